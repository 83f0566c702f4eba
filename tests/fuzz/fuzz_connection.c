/*
 * Fuzz target: any bytes as a connection or registration file, handed over as a
 * memfd.
 *
 * Either one line of error, or a connection whose endpoints can be named. There is
 * no runtime directory, so nothing is made on disk.
 */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bridge/check.h"
#include "kernel/connection.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_connection(struct connection *connection)
{
    bool asked = connection->registration_port != 0;
    CHECK(connection->path[0] == '/' && !connection->created && connection->changed == asked);
    CHECK((connection->registration_ip != NULL) == asked);
    CHECK(connection->ip[0] != '\0' && connection->key != NULL && connection->scheme != NULL);
    for (int channel = 0; channel < CHANNELS; channel++) {
        char endpoint[CONNECTION_ENDPOINT_MAX];
        CHECK(connection->port[channel] >= 0 && connection->port[channel] <= 65535);
        connection_endpoint(connection, (enum channel)channel, endpoint, sizeof endpoint);
        CHECK(strncmp(endpoint, connection->transport, 3) == 0);
        CHECK(!asked || connection->port[channel] == 0);
    }
    if (asked) {
        char endpoint[CONNECTION_ENDPOINT_MAX], error[CONNECTION_ERROR_MAX] = "";
        connection_registration_endpoint(connection, endpoint, sizeof endpoint);
        CHECK(strncmp(endpoint, connection->transport, 3) == 0);
        CHECK(connection_write(connection, error) == -ENOENT && error[0] != '\0');
    } else {
        CHECK(connection->kernel_id == NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static int fd = -1;
    static char path[32];
    if (fd < 0) {
        fd = memfd_create("connection", MFD_CLOEXEC);
        CHECK(fd >= 0);
        static const char *const places[] = {"JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR",
                                             "XDG_DATA_HOME", "HOME"};
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
            CHECK(unsetenv(places[i]) == 0);
        }
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    CHECK(ftruncate(fd, 0) == 0);
    CHECK(pwrite(fd, data, n, 0) == (ssize_t)n);

    struct connection connection;
    char error[CONNECTION_ERROR_MAX] = "";
    if (connection_read(path, &connection, error) == 0) {
        check_connection(&connection);
        connection_release(&connection);
    } else {
        CHECK(error[0] != '\0' && strchr(error, '\n') == NULL);
    }
    return 0;
}
