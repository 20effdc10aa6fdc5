# A manual page from what `wengert COMMAND --help` prints, with one line for each option, its text from column 101 on
# (ARGP_HELP_FMT of cmake/man-pages.sh).
#
#     wengert train --help | awk -f man.awk -v name="wengert train" -v what="..." -v version=... -v date=... -v exits=... -v see=...
BEGIN { COLUMN = 101 }

function trim(text) { gsub(/^ +| +$/, "", text); return text }

# Text of roff: nothing in it is an escape, and a hyphen is the character that is typed.
function plain(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/`/, "\\(ga", text)
    gsub(/\^/, "\\(ha", text)
    gsub(/~/, "\\(ti", text)
    return text
}

# A line of text, which is no request either.
function put(line) {
    if (line != "") print (line ~ /^[.']/ ? "\\&" : "") line
}

# In lines of up to 78 characters; a sentence begins a new one.
function say(text,    word, n, i, line, next_word) {
    n = split(text, word, " ")
    for (i = 1; i <= n; i++) {
        next_word = plain(word[i])
        if (line != "" && length(line " " next_word) > 78) { put(line); line = "" }
        line = line (line == "" ? "" : " ") next_word
        if (word[i] ~ /[a-z)][.!?]$/ && word[i + 1] ~ /^[A-Z0-9]/) { put(line); line = "" }
    }
    put(line)
}

function section(title) {
    if (title != at) print ".SH " title
    at = title
}

# A paragraph that has come to its end: before the options it describes, after them it is a note.
function end_paragraph() {
    if (paragraph == "") return
    if (at == "OPTIONS") section("NOTES")
    else if (at == "DESCRIPTION" || at == "NOTES") print ".PP"
    else section("DESCRIPTION")
    say(paragraph)
    paragraph = ""
}

function item(term, text) {
    print ".TP"
    print ".B " plain(term)
    say(text)
}

NR == 1 {
    title = name
    gsub(/ /, "-", title)
    printf ".TH %s 1 %s \"Wengert %s\" \"User Commands\"\n", toupper(title), date, version
    print ".SH NAME"
    print title " \\- " plain(what)
}

/^(Usage:|  or: ) / {
    sub(/^(Usage:|  or: ) +/, "")
    if (at != "SYNOPSIS") section("SYNOPSIS")
    else print ".br"
    sub(name " ?", "")
    print ".B " plain(name)
    if ($0 != "") say($0)
    next
}

/^ +-/ { # an option
    end_paragraph()
    section("OPTIONS")
    if (length($0) >= COLUMN && substr($0, COLUMN - 1, 1) != " ") {
        print "man.awk: an option reaches into the column of texts: " $0 >"/dev/stderr"
        exit 1
    }
    item(trim(substr($0, 1, COLUMN - 1)), substr($0, COLUMN))
    next
}

/^ [^ ].*:$/ { # a heading of options
    end_paragraph()
    section("OPTIONS")
    sub(/:$/, "")
    print ".SS " plain(trim($0))
    next
}

/^  [a-z]/ { # a row of a list
    end_paragraph()
    if (at != "DESCRIPTION") section("DESCRIPTION")
    at_gap = match(substr($0, 3), /  +/)
    item(substr($0, 3, at_gap - 1), trim(substr($0, 2 + at_gap)))
    next
}

/^Exit codes: / { next } # of all commands: `exits`
/^ *$/ { end_paragraph(); next }
{ paragraph = paragraph (paragraph == "" ? "" : " ") trim($0) }

END {
    end_paragraph()
    print ".SH EXIT STATUS"
    say(exits)
    print ".SH SEE ALSO"
    count = split(see, other, " ")
    for (i = 1; i <= count; i++) print ".BR " plain(other[i]) " (1)" (i < count ? "," : "")
}
