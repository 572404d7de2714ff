/* A disk that is slow now and then: preloaded into a process, it delays some of its writes and each sync. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static void wait_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    static ssize_t (*next)(int, const void *, size_t, off64_t);
    if (next == NULL) next = dlsym(RTLD_NEXT, "pwrite64");
    long chance = random() % 2000;
    /* a commit is about 14 of them: one in seven takes 20 ms, one in 140 half a second */
    if (chance == 0) wait_ms(500);
    else if (chance <= 20) wait_ms(20);
    return next(file, data, size, at);
}

int fdatasync(int file) {
    static int (*next)(int);
    if (next == NULL) next = dlsym(RTLD_NEXT, "fdatasync");
    wait_ms(100 + random() % 400);
    return next(file);
}

int fsync(int file) {
    static int (*next)(int);
    if (next == NULL) next = dlsym(RTLD_NEXT, "fsync");
    wait_ms(100 + random() % 400);
    return next(file);
}

__attribute__((constructor)) static void seed(void) { srandom(getpid()); }
