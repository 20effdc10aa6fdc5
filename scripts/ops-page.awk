# The page docs/ops.md from the public headers of ops: see scripts/ops-page.
#
# Headers are read in one way: a comment that begins with /** belongs to the declaration behind it, any other one is
# text of its own.  A declaration is a builder or a function (WG_API, static inline), a struct or an enum.

BEGIN { LINE = "\001" }

# ---- text ------------------------------------------------------------------------------------------------------------

# A comment without its stars: lines, joined into paragraphs.  Indented lines, and empty ones between them, are a block
# of code as they stand, with LINE between them.
function paragraphs(comment,    n, i, k, line, lines, out, open, block, indent) {
    gsub(/^\/\*\*?<?/, "", comment)
    gsub(/\*\/[ \t]*$/, "", comment)
    n = split(comment, lines, "\n")
    for (i = 1; i <= n; i++) {
        line = lines[i]
        sub(/^[ \t]*\* ?/, "", line)
        if (line ~ /^  / && i > 1) {
            match(line, /^ +/)
            indent = RLENGTH
            block = substr(line, indent + 1)
            for (k = i + 1; k <= n; k++) {
                line = lines[k]
                sub(/^[ \t]*\* ?/, "", line)
                if (line !~ /^  / && line !~ /^ *$/)
                    break
                block = block LINE substr(line, indent + 1)
            }
            gsub(/[ \t]+$/, "", block)
            gsub(LINE "[ " LINE "]*$", "", block)
            out = out "\n\n```text" LINE block LINE "```\n\n"
            i = k - 1
            open = 0
            continue
        }
        gsub(/^ +| +$/, "", line)
        gsub(/  +/, " ", line)
        if (line == "") {
            out = out "\n\n"
            open = 0
        } else {
            out = out (open ? " " : "") escaped(line)
            open = 1
        }
    }
    gsub(/^\n+|\n+$/, "", out)
    gsub(/\n\n+/, "\n\n", out)
    return out
}

# Stars, signs and bars of Markdown; not within `code`.
function escaped(text,    parts, n, i, out) {
    n = split(text, parts, "`")
    for (i = 1; i <= n; i++) {
        if (i % 2 == 1)
            gsub(/[*<|]/, "\\\\&", parts[i])
        out = out (i > 1 ? "`" : "") parts[i]
    }
    return out
}

# Text in lines of up to 120 characters, as the other pages have them.
function put(text,    n, i, k, words, paragraph, line) {
    n = split(text, paragraph, "\n\n")
    for (i = 1; i <= n; i++) {
        if (paragraph[i] ~ /^```/) {
            gsub(LINE, "\n", paragraph[i])
            gsub(/ +\n/, "\n", paragraph[i])
            print paragraph[i] "\n"
            continue
        }
        line = ""
        m = split(paragraph[i], words, " ")
        for (k = 1; k <= m; k++)
            if (line != "" && length(line) + length(words[k]) >= 120) {
                print line
                line = words[k]
            } else
                line = line (line == "" ? "" : " ") words[k]
        print line "\n"
    }
}

# ---- what the headers declare ----------------------------------------------------------------------------------------

function add(kind, name, what, comment) {
    kinds[++items] = kind
    names[items] = name
    texts[items] = what
    comments[items] = comment
}

# A declaration of a function in one line, as a program calls it: without the place and the brackets of its name.
function signature(text) {
    gsub(/[ \t\n]+/, " ", text)
    sub(/^static inline /, "", text)
    sub(/^WG_API /, "", text)
    sub(/^WG_MUST_USE /, "", text)
    sub(/ ?\{.*/, "", text)
    sub(/;.*/, "", text)
    sub(/ \*\(wg_/, " *(wg_", text)
    if (match(text, /\(wg_[a-z0-9_]+\)\(/)) {
        name = substr(text, RSTART + 1, RLENGTH - 3)
        text = substr(text, 1, RSTART - 1) (substr(text, RSTART - 1, 1) == "*" ? "" : " ") name "(" \
            substr(text, RSTART + RLENGTH)
        sub(/\(const char \*at, /, "(", text)
        gsub(/ +/, " ", text)
    } else if (match(text, /wg_[a-z0-9_]+\(/))
        name = substr(text, RSTART, RLENGTH - 1)
    else
        name = ""
    return text
}

# The fields of a struct or the values of an enum as rows of a table.
function rows(body, kind,    n, i, lines, line, comment, pending, declared, out) {
    n = split(body, lines, "\n")
    for (i = 1; i <= n; i++) {
        line = lines[i]
        gsub(/^[ \t]+/, "", line)
        if (line == "")
            continue
        if (line ~ /^\/\*\*/ || pending != "") { # a comment above its field
            pending = pending "\n" line
            if (line !~ /\*\/$/)
                continue
            comment = pending
            sub(/^\n/, "", comment)
            pending = ""
            continue
        }
        declared = line
        if (match(line, /\/\*\*?<?.*/)) {
            declared = substr(line, 1, RSTART - 1)
            comment = substr(line, RSTART)
            while (comment !~ /\*\/[ \t]*$/ && i < n)
                comment = comment "\n" lines[++i]
        }
        gsub(/[;,]? *$/, "", declared)
        sub(/ = .*/, "", declared)
        comment = paragraphs(comment)
        gsub("```text" LINE "|" LINE "```", "`", comment)
        gsub(LINE "|\n+", " ", comment)
        out = out "| `" declared "` | " comment " |\n"
        comment = ""
    }
    return "| " kind " | |\n|---|---|\n" out
}

function flush_comment() {
    if (comment != "" && comment !~ /^\/\*\*/ && comment !~ /^\/\* clang-format/)
        add("text", "", comment, "")
    comment = ""
}

FNR == 1 {
    path = FILENAME
    sub(/^include\//, "", path)
    add("header", path, "", "")
    comment = body = declaration = ""
}
in_comment { comment = comment "\n" $0; in_comment = !/\*\/[ \t]*$/; next }
in_struct {
    if (/^}/) {
        in_struct = 0
        add(struct_kind, struct_name, rows(body, struct_kind == "enum" ? "value" : "field"), comment)
        comment = ""
    } else
        body = body "\n" $0
    next
}
declaration != "" {
    declaration = declaration "\n" $0
    if (/;[ \t]*$|^{/) {
        text = signature(declaration)
        add("function", name, text, comment)
        declaration = comment = ""
    }
    next
}
/^\/\*/ { flush_comment(); comment = $0; in_comment = !/\*\/[ \t]*$/; next }
/^typedef (struct|enum) wg_[a-z0-9_]+ \{/ {
    struct_kind = $2
    struct_name = $3
    body = ""
    in_struct = 1
    next
}
/^(WG_API|static inline) / {
    declaration = $0
    if (/;[ \t]*$/) {
        text = signature(declaration)
        add("function", name, text, comment)
        declaration = comment = ""
    }
    next
}
/^[ \t]*$/ { flush_comment() }

# ---- the page --------------------------------------------------------------------------------------------------------

# Whether the page shows an item: a function of programs, not of kernels, or a type that these use.
function shows(i) {
    return kinds[i] == "function" ? texts[i] !~ /wg_node/ : used[i]
}
function is_empty(i) {
    while (++i <= items && kinds[i] != "header")
        if (shows(i))
            return 0
    return 1
}

# The types that a program writes: those of parameters of builders, and of the fields of these.
function mark_used(    i, k, again) {
    do {
        again = 0
        for (i = 1; i <= items; i++)
            if (!used[i] && (kinds[i] == "struct" || kinds[i] == "enum"))
                for (k = 1; k <= items && !used[i]; k++)
                    if ((kinds[k] == "function" && shows(k) || used[k]) && texts[k] ~ ("(^|[^a-z_0-9])" names[i] "([^a-z_0-9]|$)"))
                        used[i] = again = 1
    } while (again)
}

function put_facts(op,    line) {
    if (!(op in formula))
        return
    line = "Op `" op "`. Dtypes: " (dtypes[op] == "none" ? "as asked for" : escaped(dtypes[op])) "."
    if (example[op] != "none")
        line = line " Shapes, for example: " escaped(example[op]) "."
    put(line " Derivatives: " order[op] ".")
}

# `wengert ops --details`: for each op a line "NAME: FORMULA", and lines of a word and what it says.
function read_facts(    line, op, value) {
    while ((getline line < facts) > 0)
        if (match(line, /^[a-z0-9_]+: /)) {
            op = substr(line, 1, RLENGTH - 2)
            formula[op] = line
        } else if (match(line, /^(dtypes|example|derivatives) +/)) {
            value = substr(line, RLENGTH + 1)
            if (line ~ /^dtypes/) dtypes[op] = value
            if (line ~ /^example/) example[op] = value
            if (line ~ /^derivatives/) order[op] = value
        }
}

function put_tables(    line, op) {
    while ((getline line < tables) > 0) {
        if (match(line, /^\| `[a-z0-9_]+`/)) {
            op = substr(line, 4, RLENGTH - 4)
            if (("wg_" op) in built)
                sub(/`[a-z0-9_]+`/, "[`" op "`](#wg_" op ")", line)
        }
        print line
    }
}

# A row for each header: its builders and functions, each a link.
function put_index(    i, row) {
    print "| header | builders and functions |\n|---|---|"
    for (i = 1; i <= items; i++) {
        if (kinds[i] == "header") {
            if (row != "")
                print row " |"
            row = is_empty(i) ? "" : "| [" names[i] "](#" anchor(names[i]) ") |"
        } else if (kinds[i] == "function" && shows(i))
            row = row " [" names[i] "](#" names[i] ")"
    }
    print row " |\n"
}

# As Markdown's readers make it of a heading.
function anchor(heading) {
    gsub(/[^a-z0-9_-]/, "", heading)
    return heading
}

END {
    read_facts()
    mark_used()
    for (i = 1; i <= items; i++)
        if (kinds[i] == "function" && shows(i)) {
            built[names[i]] = 1
            builders++
        }
    print "# Ops\n"
    put("Generated by `scripts/ops-page` from the table of ops and the public headers; do not edit.")
    put("The [tables](#tables) list every op with its formula. `?` marks an optional operand and `*` any number of " \
        "operands. An op whose name is not a link has no builder: a gradient, a layer or a plan makes its nodes. " \
        "Gradient \"expansion\": the op is differentiated through its expansion.")
    put("The [builders](#builders) are the C functions that append ops to a graph, by header; `wengert.h` includes all. " \
        "Dtypes are those that the shape rule accepts: *floats* are f32, f64, bf16 and f16, *integers* i32 and i64, " \
        "*numbers* both, *any* all nine. Operands of one float dtype stay of one dtype. Attributes that are left " \
        "zero, or options that are NULL, have the default that the table of the struct names. " \
        "`wengert ops NAME` prints the page of one op.")
    print "## Tables"
    put_tables()
    print "\n## Builders\n"
    put_index()
    for (i = 1; i <= items; i++) {
        if (kinds[i] == "header")
            skip = is_empty(i)
        if (skip)
            continue
        if (kinds[i] == "header") {
            print "### " names[i] "\n"
        } else if (kinds[i] == "text") {
            if (texts[i] ~ /^\/\* ---- /) {
                sub(/^\/\* -+ /, "", texts[i])
                sub(/ -+ \*\/.*/, "", texts[i])
                print "**" toupper(substr(texts[i], 1, 1)) substr(texts[i], 2) "**\n"
            } else
                put(paragraphs(texts[i]))
        } else if (kinds[i] == "function" && shows(i)) {
            print "#### " names[i] "\n"
            print "`" texts[i] "`\n"
            put(paragraphs(comments[i]))
            op = names[i]
            sub(/^wg_/, "", op)
            put_facts(op)
        } else if (used[i]) {
            print "#### " names[i] "\n"
            put(paragraphs(comments[i]))
            print texts[i]
        }
    }
    print builders " builders and functions."
}
