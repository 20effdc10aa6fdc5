# The rooms of the source and the includes between them.
#
#     awk -f tests/house.awk FILE...       prints each room with the rooms it includes, or fails
#
# A room is a folder, inner ones included; a public header belongs to the room whose name its path has.  The table below
# says which rooms each may include; it is in the order of the floors, so that no arrow can lead upwards.  It fails on an
# include that the table does not allow, on a public header that includes a private one, on a circle of headers, on a
# macro or constant of a private header that begins with WG_, as public ones do, and on a parallel region without
# num_threads, which would take as many threads as OpenMP likes, whatever `threads` is.  (Calls between source files:
# tests/calls.awk.)
BEGIN {
    allow("graph")
    allow("graph/picture", "graph")
    allow("graph/page", "graph graph/picture")
    allow("graph/file", "graph")
    allow("ops", "graph graph/file")
    allow("autograd", "graph ops")
    allow("backends", "graph ops")
    allow("backends/cpu", "graph ops backends")
    allow("backends/simd/kernels", "graph backends")
    allow("backends/simd", "graph ops backends backends/simd/kernels")
    allow("backends/onednn", "graph ops backends")
    allow("backends/lapack", "graph ops backends")
    allow("backends/plan", "graph graph/page ops backends")
    allow("distributed", "graph ops backends")
    allow("models", "graph ops")
    allow("text/unicode", "graph")
    allow("files", "graph backends text/unicode")
    allow("onnx", "graph ops autograd backends files")
    allow("decode", "graph ops backends models")
    allow("text", "graph files text/unicode")
    allow("train", "graph ops autograd backends distributed models files text/unicode")
    allow("translate", "graph ops autograd backends distributed models decode files text text/unicode train")
    allow("measure", "graph ops autograd backends models decode files text train translate")
    allow("paper", "graph ops autograd backends models decode files train measure")
    allow("cli", "graph ops autograd backends distributed models decode files text text/unicode train translate measure paper onnx")
    allow("bench", "graph ops autograd backends models decode files text train translate measure backends/simd/kernels backends/onednn")
}

function allow(room, others) {
    room_at[++rooms] = room
    floor[room] = rooms
    count = split(others, other, " ")
    for (i = 1; i <= count; i++) {
        if (!(other[i] in floor)) complain("the table has " other[i] " above " room)
        may[room, other[i]] = 1
    }
    may[room, room] = 1
}

function complain(text) { print "error: " text; failed = 1 }

# The room of a path: the longest name in the table that it begins with.
function room_of(path,    best, r) {
    sub(/^include\/wengert\//, "", path)
    sub(/^wengert\//, "", path)
    best = ""
    for (r in floor)
        if (index(path, r "/") == 1 && length(r) > length(best)) best = r
    return best
}

# A header as others include it.
function name_of(path) { sub(/^include\//, "", path); return path }

FNR == 1 { room = room_of(FILENAME); from = name_of(FILENAME); files++; public = FILENAME ~ /^include\// }

/^#include "/ {
    split($0, quoted, "\"")
    target = quoted[2]
    to = room_of(target)
    includes++
    if (room == "") next # wengert.h and the like
    if (target ~ /^wengert(-train)?\.h$/) next
    if (to == "") { complain(FILENAME ": \"" target "\" is in no room"); next }
    if (!((room, to) in may)) complain(FILENAME ": " room " may not include " to ": \"" target "\"")
    if (public && target !~ /^wengert\//) complain(FILENAME ": a public header includes the private \"" target "\"")
    arrow[room, to]++
    if (from ~ /\.h$/) out[from] = out[from] " " target
}

!public && from ~ /\.h$/ && !/_H$/ && !/WG_OP\(/ && (/^#define WG_/ || /^ +WG_[A-Z0-9_]+( = .*)?,?( +\/\*.*)?$/) {
    complain(FILENAME ":" FNR ": expected a private name, WGI_..., got " $0)
}

/#pragma omp parallel|_Pragma\("omp parallel/ { team = " " }
team != "" {
    team = team $0
    if ($0 ~ /\\$/) next # goes on in the next line
    if (team !~ /num_threads\(/) complain(FILENAME ":" FNR ": expected num_threads(...)")
    team = ""
}

# Depth first; a file met again on the way down closes a circle.
function visit(u,    list, n, k) {
    state[u] = 1
    path[++depth] = u
    n = split(out[u], list, " ")
    for (k = 1; k <= n; k++) {
        if (state[list[k]] == 1) circle(list[k])
        else if (!state[list[k]]) visit(list[k])
    }
    depth--
    state[u] = 2
}

function circle(from,    k, text) {
    for (k = depth; path[k] != from; k--) text = " -> " path[k] text
    complain("a circle of headers: " from text " -> " from)
}

END {
    for (u in out) if (!state[u]) visit(u)
    for (r = 1; r <= rooms; r++) {
        text = ""
        for (s = 1; s <= rooms; s++)
            if (s != r && arrow[room_at[r], room_at[s]]) text = text sprintf("  %s (%d)", room_at[s], arrow[room_at[r], room_at[s]])
        printf "%-22s%s\n", room_at[r], text
    }
    printf "%d includes of %d files\n", includes, files
    if (includes < 200) complain("too few includes to be the whole source")
    exit failed
}
