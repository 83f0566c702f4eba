/*
 * Passing fds over the request socket (SCM_RIGHTS): memfds of large payloads,
 * the worker's to the kernel and the kernel's to the worker. What comes is
 * looked at here only for being one fd; what it is, the receiver judges. Both
 * processes run it. Owns an fd only until it is handed out.
 */

#include "bridge/link_passing.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridge/link.h"

/* Room for one fd; padded, so the system may put two there. */
union control {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
};

int link_passing_send(int socket, int fd, struct slice bytes)
{
    union control control;
    memset(&control, 0, sizeof control);
    struct iovec iov = {(void *)(uintptr_t)bytes.p, bytes.n};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.room};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    ssize_t n = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    return n == (ssize_t)bytes.n ? 0 : n < 0 ? -errno : -EIO;
}

/* -> the one fd that came, -1, -EMFILE, LINK_ECORRUPT. */
static int take_fd(struct msghdr *message)
{
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    bool cut = (message->msg_flags & MSG_CTRUNC) != 0;
    int fd = -1;
    size_t fds = 0;
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        for (; CMSG_LEN((fds + 1) * sizeof fd) <= header->cmsg_len; fds++) {
            if (fd >= 0) {
                close(fd);
            }
            memcpy(&fd, CMSG_DATA(header) + fds * sizeof fd, sizeof fd);
        }
    }
    if (fds == 0) {
        return cut ? -EMFILE : -1;
    }
    if (fds > 1 || cut) {
        close(fd);
        return LINK_ECORRUPT;
    }
    return fd;
}

ssize_t link_passing_receive(int socket, void *p, size_t n, int flags, int *ret_fd)
{
    union control control;
    struct iovec iov = {p, n};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.room};
    ssize_t got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    if (got < 0) {
        return -errno;
    }
    *ret_fd = take_fd(&message);
    return got;
}
