# The calls between files of the library, from `nm -A` of its object files, whose paths end in .dir/ROOM/FILE.c.o.
#
#     nm -A OBJECT... | awk -f tests/calls.awk
#
# Fails on a circle: files that call each other, directly or through others, are one thing in several files.  Only in ops/
# is that right, where the derivative of a sum is a broadcast and that of a broadcast is a sum.
{
    file = $1
    sub(/:.*/, "", file); sub(/.*\.dir\/(\.\/)?/, "", file); sub(/\.(c|cc)\.o$/, "", file)
    kind = $(NF - 1); name = $NF
    if (kind == "U") { users++; user[users] = file; used[users] = name }
    else if (kind ~ /^[TDRB]$/) definer[name] = file
}

# Tarjan's strongly connected components.
function visit(v,    list, n, k, w) {
    order[v] = low[v] = ++visited
    stack[++depth] = v
    open[v] = 1
    n = split(calls[v], list, " ")
    for (k = 1; k <= n; k++) {
        w = list[k]
        if (!order[w]) { visit(w); if (low[w] < low[v]) low[v] = low[w] }
        else if (open[w] && order[w] < low[v]) low[v] = order[w]
    }
    if (low[v] == order[v]) close_component(v)
}

function close_component(v,    w, n, text) {
    do { w = stack[depth--]; open[w] = 0; text = text " " w; n++ } while (w != v)
    if (n == 1) return
    print (v ~ /^ops\// ? "allowed" : "error") ": files that call each other:" text
    if (v !~ /^ops\//) failed = 1
}

END {
    for (i = 1; i <= users; i++) {
        to = definer[used[i]]
        if (to == "" || to == user[i] || (user[i], to) in known) continue
        known[user[i], to] = 1
        calls[user[i]] = calls[user[i]] " " to
        count++
    }
    for (v in calls) if (!order[v]) visit(v)
    printf "%d files call others, %d pairs\n", length(calls), count
    if (count < 200) { print "error: too few calls to be the whole library"; failed = 1 }
    exit failed
}
