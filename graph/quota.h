/* The processor time that control groups grant. */
#ifndef WG_GRAPH_QUOTA_H
#define WG_GRAPH_QUOTA_H

/* In processors, rounded up; 0 if there is no limit, or none that can be read. */
int wgi_quota_processors(void);

/* The same with other paths of /proc/self/cgroup and /sys/fs/cgroup, for tests. */
int wgi_quota_in(const char *memberships, const char *mount);

#endif
