/* A folder for one process at a time. */
#ifndef WG_FILES_LOCK_H
#define WG_FILES_LOCK_H

#include "wengert/graph/error.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct wgi_lock {
    char *path; /* of the locked file; NULL: nothing is locked */
    int fd;
    bool unsupported; /* the file system has no locks: nobody is kept out */
    dev_t device;     /* of the folder */
    ino_t inode;
} wgi_lock;

/* Locks the folder by flock of a file in it, which holds the number of the process.  The lock ends
 * with the process, however that ends.  WG_EIO: another process, which the error names, has locked
 * it, or the file cannot be made.  The caller releases the lock; on failure it is empty. */
wg_status wgi_lock_take(wgi_lock *out, const char *folder, wg_error *error);
/* WG_EIO: the path no longer leads to the folder that was locked. */
wg_status wgi_lock_check(const wgi_lock *lock, const char *folder, wg_error *error);
/* Releases the lock and removes its file; one that is empty is allowed. */
void wgi_lock_release(wgi_lock *lock);

#endif
