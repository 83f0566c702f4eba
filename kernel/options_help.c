/*
 * What `einkorn --help` says. Kernel process. docs/einkorn.1 tells the same at
 * length; tests/kernelspec/test_command_line.py sees that neither forgets an option.
 */

#include "kernel/options.h"

const char options_help[] =
    "einkorn: a Jupyter kernel for Python\n"
    "\n"
    "  einkorn kernel -f FILE     run a kernel on the connection file FILE;\n"
    "                             where there is none it is made, ports and all\n"
    "    --python PATH            the Python to use (else $VIRTUAL_ENV, else python3)\n"
    "    --libpython PATH         its shared library, if known; '' uses PATH itself\n"
    "    --python-version X.Y.Z   its version, if known\n"
    "    --max-output N           characters per stream and cell (0: no bound);\n"
    "                             1000000, or EINKORN_MAX_OUTPUT\n"
    "    --log FILE               where the log goes, instead of stderr\n"
    "    --log-level LEVEL        error, warning, info or debug\n"
    "    --debug                  the same as --log-level debug\n"
    "\n"
    "  einkorn install --user | --sys-prefix | --prefix DIR\n"
    "                             make the kernel known to Jupyter\n"
    "    --python PATH            the Python that it shall use\n"
    "    --name NAME              the kernel's name (einkorn)\n"
    "    --display-name TEXT      what menus show\n"
    "    --env NAME=VALUE         a variable for the kernel; as often as you like\n"
    "    --as-python3             under the name python3, that most notebooks want;\n"
    "                             a kernel that has it comes back upon uninstall\n"
    "\n"
    "  einkorn uninstall --user | --sys-prefix | --prefix DIR\n"
    "                             take back what install wrote there\n"
    "    --python PATH            the Python whose prefix --sys-prefix means\n"
    "    --name NAME, --as-python3   which one (einkorn)\n"
    "\n"
    "  einkorn doctor             tell what is there and whether a kernel runs\n"
    "    --python PATH            the Python to try\n"
    "\n"
    "  einkorn [--python PATH] -c CODE | -m MODULE | -I ... | SCRIPT.py ...\n"
    "                             become that Python\n"
    "\n"
    "  einkorn --version\n"
    "  einkorn --help\n";
