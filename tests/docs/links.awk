# Relative links in pages of Markdown lead to files that exist, and to headings that these have.
#
#     awk -v root=FOLDER -f links.awk PAGE...
#
# A heading's anchor is as GitHub makes it: lower case, without punctuation, blanks as '-'; a second one gets "-1".

function anchor_of(heading) {
    sub(/^#+ +/, "", heading)
    gsub(/`/, "", heading)
    heading = tolower(heading)
    gsub(/[^a-z0-9_ -]/, "", heading)
    gsub(/ /, "-", heading)
    return heading
}

function read_anchors(path,    line, a, inside) {
    known[path] = 1
    while ((getline line < path) > 0) {
        if (line ~ /^ *```/)
            inside = !inside
        if (!inside && line ~ /^#+ /) {
            a = anchor_of(line)
            anchors[path, times[path, a]++ ? a "-" (times[path, a] - 1) : a] = 1
        }
    }
    close(path)
}

function exists(path) {
    return system("test -e '" path "'") == 0
}

function check(link,    target, anchor, path) {
    links++
    target = anchor = link
    sub(/#.*/, "", target)
    if (!sub(/^[^#]*#/, "", anchor))
        anchor = ""
    path = target == "" ? FILENAME : folder target
    if (!(path in found))
        found[path] = exists(path)
    if (!found[path]) {
        print FILENAME ":" FNR ": no file " target
        wrong++
    } else if (anchor != "") {
        with_anchor++
        if (!(path in known))
            read_anchors(path)
        if (!((path, anchor) in anchors)) {
            print FILENAME ":" FNR ": " target " has no heading #" anchor
            wrong++
        }
    }
}

FNR == 1 { folder = FILENAME; sub(/[^\/]*$/, "", folder); inside = 0 }
/^ *```/ { inside = !inside; next }
inside { next }
{
    rest = $0
    while (match(rest, /\]\([^) ]+\)/)) {
        link = substr(rest, RSTART + 2, RLENGTH - 3)
        rest = substr(rest, RSTART + RLENGTH)
        if (link !~ /^[a-z]+:/)
            check(link)
    }
}
END {
    print links + 0 " relative links, " with_anchor + 0 " of them to headings, " wrong + 0 " wrong"
    exit wrong > 0 || !with_anchor
}
