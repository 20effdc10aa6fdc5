/* The machine stays up: nothing need reach the disk, which would take most of the time.  A test
 * that includes this is linked with -Wl,--wrap=fsync. */
#ifndef WG_TESTS_UNSYNCED_H
#define WG_TESTS_UNSYNCED_H

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    (void)fd;
    return 0;
}

#endif
