/*
 * The way into einkorn-kernel.so. Runs in the kernel process.
 */

#include "kernel/entry.h"

#include "bridge/check.h"
#include "kernel/kernel.h"
#include "kernel/options.h"
#include "kernelspec/doctor.h"
#include "kernelspec/install.h"

__attribute__((visibility("default"))) int einkorn_entry(const struct options *options,
                                                         struct start *start)
{
    switch (options->command) {
    case COMMAND_KERNEL:
        return kernel_run(options, start);
    case COMMAND_INSTALL:
        return install_run(options);
    case COMMAND_UNINSTALL:
        return uninstall_run(options);
    case COMMAND_DOCTOR:
        return doctor_run(options);
    case COMMAND_FRAMES:
    case COMMAND_HELP:
    case COMMAND_VERSION:
    case COMMAND_PYTHON:
        break; /* main's own */
    }
    UNREACHABLE("a command that main does itself");
}
