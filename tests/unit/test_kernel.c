/*
 * Tests of kernel/kernel.c: whole kernels, each in a process of its own, that
 * have no Python that works. What needs one is in tests/e2e.
 */

#include <poll.h>
#include <sys/un.h>

#include "kernel/start.h"
#include "kernel_fixture.h"

/* A directory with a connection file, and the process of the kernel that reads it. */
struct house {
    char directory[32], file[64];
    struct options options;
    pid_t pid;
};

static void house_init(struct house *self, const char *scheme)
{
    FILE *file;

    memset(self, 0, sizeof *self);
    memcpy(self->directory, "/tmp/einkorn-XXXXXX", sizeof "/tmp/einkorn-XXXXXX");
    cr_assert(mkdtemp(self->directory));
    (void)snprintf(self->file, sizeof self->file, "%s/kernel.json", self->directory);
    file = fopen(self->file, "we");
    cr_assert(file);
    (void)fprintf(file,
                  "{\"transport\":\"ipc\",\"ip\":\"%s/k\",\"key\":\"key\","
                  "\"signature_scheme\":\"%s\",\"shell_port\":1,\"iopub_port\":2,"
                  "\"stdin_port\":3,\"control_port\":4,\"hb_port\":5}",
                  self->directory, scheme);
    cr_assert(fclose(file) == 0);
    self->options.connection_file = self->file;
    self->options.python = "/no/such/python";
}

/* Before any use of ZeroMQ here: its threads do not survive a fork. */
static void house_run(struct house *self)
{
    self->pid = fork();
    if (self->pid == 0) {
        struct start start;
        int status;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        status = start_init(&start, &self->options);
        _exit(status == 0 ? kernel_run(&self->options, &start) : status);
    }
    cr_assert_gt(self->pid, 0);
}

static int house_status(struct house *self)
{
    int status;

    cr_assert_eq(waitpid(self->pid, &status, 0), self->pid);
    cr_assert(WIFEXITED(status), "it was killed by %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static void house_release(struct house *self)
{
    zdir_t *directory = zdir_new(self->directory, "-");

    zdir_remove(directory, true);
    zdir_destroy(&directory);
    zsys_shutdown();
}

Test(kernel, what_it_was_told_wrong_ends_it_with_a_status_of_its_own)
{
    static const struct {
        const char *scheme, *file;
    } rows[] = {
        {"hmac-nonsense", NULL},
        {"sha256", NULL},
        {"hmac-sha256", "/dev/null"}, /* no JSON */
        {"hmac-sha256", "/"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct house house;

        house_init(&house, rows[i].scheme);
        if (rows[i].file) {
            house.options.connection_file = rows[i].file;
        }
        house_run(&house);
        cr_assert_eq(house_status(&house), 2, "%zu", i);
        house_release(&house);
    }
}

Test(kernel, an_address_in_use_ends_it_as_a_failure_and_a_signal_does_not_wait_for_it)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct pollfd taken = {.events = POLLIN};
    struct house house;
    long long start = kernel_now_ms();

    house_init(&house, "hmac-sha256");
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/k-4", house.directory);
    taken.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert(bind(taken.fd, (const struct sockaddr *)&address, sizeof address) == 0);
    cr_assert(listen(taken.fd, 1) == 0);
    house_run(&house);
    cr_assert_eq(poll(&taken, 1, STAGE_DEADLINE_MS), 1, "it looks whether somebody is there");
    (void)kill(house.pid, SIGTERM);
    cr_assert_eq(house_status(&house), EXIT_FAILURE);
    cr_assert_lt(kernel_now_ms() - start, SOCKETS_BIND_MS);
    (void)close(taken.fd);
    house_release(&house);
}

/* Sends a request and gives the content of its reply. */
static char *ask(struct stage *client, zsock_t *socket, const char *type, const char *content)
{
    zmsg_t *message;
    char *text;

    stage_send_child(client, socket, type, "{}", content);
    message = zmsg_recv(socket);
    cr_assert(message, "no reply came");
    cr_assert_eq(zmsg_size(message), 6);
    text = zframe_strdup(zmsg_last(message));
    zmsg_destroy(&message);
    return text;
}

static zsock_t *connect_to(const struct house *house, int number)
{
    zsock_t *socket = zsock_new(ZMQ_DEALER);

    (void)zsys_handler_set(NULL);
    zsock_set_linger(socket, 0);
    zsock_set_rcvtimeo(socket, STAGE_DEADLINE_MS);
    cr_assert(zsock_connect(socket, "ipc://%s/k-%d", house->directory, number) == 0);
    return socket;
}

static void expect_in(char *text, const char *fragment)
{
    cr_assert(strstr(text, fragment), "%s is not in %s", fragment, text);
    free(text);
}

Test(kernel, without_a_python_it_serves_tells_why_and_ends_when_told)
{
    static const struct {
        const char *version, *libpython, *told;
        int signal;
    } rows[] = {
        {NULL, NULL, "\"version\":\"3\"", SIGTERM},
        {"3.11.7", "/no/libpython3.12.so.1.0", "\"version\":\"3.11.7\"", SIGHUP},
        {NULL, "/no/libpython3.12.so.1.0", "\"version\":\"3.12\"", 0},
        {NULL, "/no/libpython3.so", "\"version\":\"3\"", SIGTERM},
        {NULL, "", "\"version\":\"3\"", SIGTERM},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct house house;
        struct stage client = {.sent = 0};
        zsock_t *shell, *control;

        house_init(&house, "hmac-sha256");
        house.options.python_version = rows[i].version;
        house.options.libpython = rows[i].libpython;
        house_run(&house);
        cr_assert(signer_new("hmac-sha256", slice_of("key"), &client.signer) == 0);
        shell = connect_to(&house, 1);
        control = connect_to(&house, 4);
        expect_in(ask(&client, control, "kernel_info_request", "{}"), rows[i].told);
        expect_in(ask(&client, shell, "execute_request", "{\"code\":\"1\"}"), "KernelStartError");
        if (rows[i].signal == 0) {
            expect_in(ask(&client, control, "shutdown_request", "{}"), "\"restart\":false");
        } else {
            (void)kill(house.pid, rows[i].signal);
        }
        cr_assert_eq(house_status(&house), 0);
        zsock_destroy(&shell);
        zsock_destroy(&control);
        signer_destroy(&client.signer);
        house_release(&house);
    }
}

Test(kernel, milliseconds_do_not_go_back)
{
    long long before = kernel_now_ms();

    cr_assert_gt(before, 0);
    cr_assert_geq(kernel_now_ms(), before);
}
