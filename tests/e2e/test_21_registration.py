"""
The startup handshake (JEP 66): the kernel chooses its ports and reports them to the launcher's
registration socket; it ends if they are not acknowledged. peers 7.2: "registration file (JEP 66)".
"""

import contextlib
import json
import os
import re
import signal
import stat
import time

import pytest

from client import (CHANNELS, DEADLINE, DELIMITER, Client, compact, members_of_group, run_kernel,
                    text, wait_for_file, wait_gone)
from launcher import FORMS, PORT_NAMES, Specified, Supervisor

FAILED = r"einkorn: no acknowledgement of the ports from the launcher at \S+ within 5 s, ending"
IGNORED = "einkorn: registration: an answer is ignored: "


@pytest.fixture
def launch():
    """A function that makes launchers."""
    made = []

    def make(form, **options):
        made.append(form(**options))
        return made[-1]

    yield make
    for each in made:
        each.end()


@contextlib.contextmanager
def running(launcher, directory, **options):
    """A kernel process without a client; nothing of it is left when the test is over."""
    process = launcher.start(directory, **options)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
        for pid in members_of_group(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def ended(process, status=1):
    """The process has ended, with that status and all that belongs to it. -> lines of its log"""
    out, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, out) == (status, ""), err
    assert members_of_group(process.pid) == []
    return err.splitlines()


def files(directory):
    """Connection files for other clients."""
    return sorted(p.name for p in (directory / "runtime").glob("kernel-*"))


# --- ports are reported ------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_a_cell_runs_through_the_ports_that_were_reported(start, launch, form):
    """peers 7.2: a registration file. The launcher checks the form of the report."""
    launcher = launch(form)
    kernel = start(registration=launcher)
    assert len({kernel.connection[name] for name in PORT_NAMES}) == len(CHANNELS)
    assert kernel.run("6 * 7") == [("result", text("42"))]
    assert kernel.ping(b"beat") == b"beat"
    if form is Specified:
        assert launcher.told["kernel_id"] == launcher.kernel_id


@pytest.mark.parametrize("form", FORMS)
def test_the_socket_is_left_after_the_acknowledgement(start, launch, form):
    """JEP 66: "the kernel should disconnect from the registration socket right after"."""
    launcher = launch(form)
    monitor = launcher.socket.get_monitor_socket()
    start(registration=launcher)
    seen = []
    while b"\x00\x02" not in seen:  # ZMQ_EVENT_DISCONNECTED, little-endian
        assert monitor.poll(int(DEADLINE * 1000)), seen
        seen.append(monitor.recv_multipart()[0][:2])
    launcher.socket.disable_monitor()
    assert not launcher.socket.poll(0), "it has reported twice"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", ["", "a key with spaces"])
def test_with_any_key_and_with_none(start, launch, form, key):
    """The supervisor writes null for no key."""
    assert start(registration=launch(form, key=key)).run("1") == [("result", text("1"))]


def test_the_scheme_is_that_of_the_file(start, launch):
    assert start(registration=launch(Specified, scheme="sha512")).run("1")


@pytest.mark.parametrize("form", FORMS)
def test_over_ipc(start, launch, form, tmp_path):
    """The numbers that the kernel chooses leave out the launcher's."""
    launcher = launch(form, transport="ipc", ip=str(tmp_path / "k"), port=2)
    kernel = start(registration=launcher)
    assert kernel.run("1") == [("result", text("1"))]
    assert 2 not in launcher.told.values() and "2" not in launcher.told.values()


def test_the_address_of_the_channels_may_be_another_one(start, launch):
    """`ip` is where the kernel listens, registration_ip where it reports."""
    class Elsewhere(Specified):
        @property
        def file(self):
            return {**super().file, "ip": "127.0.0.2"}

        def learn(self, kernel):
            return {**super().learn(kernel), "ip": "127.0.0.2"}

    assert start(registration=launch(Elsewhere)).run("1") == [("result", text("1"))]


def test_one_socket_for_many_kernels(launch, tmp_path):
    """JEP 66: "a single long-lived registration socket"; the ids tell the kernels apart."""
    launcher = launch(Specified)
    ids, ports = {f"kernel.{n}" for n in range(4)}, set()
    with contextlib.ExitStack() as stack:
        processes = []
        for each in ids:
            (tmp_path / each).mkdir()
            process = running(launcher, tmp_path / each, file={**launcher.file, "kernel_id": each})
            processes.append(stack.enter_context(process))
        for _ in range(4):
            ports |= set(launcher.report().values())
            launcher.acknowledge()
            ids.remove(launcher.told["kernel_id"])
        assert ids == set() and len(ports) == 20
        for process in processes:
            process.terminate()
            assert ended(process, status=0) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_restart_registers_again(launch, form, tmp_path):
    """JEP 66: "To restart a kernel will require the registration socket again"."""
    launcher = launch(form)
    for _ in range(2):
        with running(launcher, tmp_path) as process:
            launcher.report()
            launcher.acknowledge()
            process.terminate()
            assert ended(process, status=0) == []


# --- the file for other clients ----------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_other_clients_find_a_connection_file(start, launch, form):
    """JEP 66: "The kernel should write its connection information in a connection file"."""
    launcher = launch(form)
    kernel = start(registration=launcher)
    name = f"kernel-{launcher.kernel_id if form is Specified else kernel.pid}.json"
    path = kernel.directory / "runtime" / name
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    connection = json.loads(path.read_text())
    assert {key: connection[key] for key in kernel.connection} == kernel.connection
    assert not [key for key in connection if key.startswith("registration")]
    other = Client(connection, kernel.sent)
    other.welcome()
    assert other.run("'found'") == [("result", text("'found'"))]
    other.close()
    assert kernel.file.read_bytes() == compact(launcher.file), "the launcher's file has changed"
    kernel.leftovers()
    kernel.queue["iopub"].clear()  # what the other one caused was for everybody
    kernel.stop()
    assert not path.exists()


def test_a_registration_file_of_that_name_is_kept(launch, tmp_path):
    """Jupyter's managers name the file that they hand over so, and hand it over again."""
    launcher = launch(Specified)
    (tmp_path / "runtime").mkdir()
    path = tmp_path / "runtime" / f"kernel-{launcher.kernel_id}.json"
    (tmp_path / "registration.json").symlink_to(path)
    with running(launcher, tmp_path) as process:
        launcher.report()
        launcher.acknowledge()
        assert files(tmp_path) == sorted([path.name, f"kernel-{process.pid}.json"])
        process.terminate()
        assert ended(process, status=0) == []
    assert files(tmp_path) == [path.name]
    assert path.read_bytes() == compact(launcher.file)


@pytest.mark.parametrize("place, line", [
    ({"JUPYTER_RUNTIME_DIR": ""}, "einkorn: no directory for a connection file: "
     "set JUPYTER_RUNTIME_DIR or HOME; only the launcher can find this kernel"),
    ({"JUPYTER_RUNTIME_DIR": "/dev/null/x"}, None),
    ({"JUPYTER_RUNTIME_DIR": "/proc"}, r"einkorn: connection file /proc/kernel-k\.json: cannot be "
     r"written: .*; only the launcher can find this kernel"),
])
def test_a_file_that_cannot_be_written_ends_nothing(launch, tmp_path, place, line):
    """In a container nothing may be writable; the launcher knows the ports all the same."""
    launcher = launch(Specified)
    launcher.kernel_id = "k"
    with running(launcher, tmp_path, env=place) as process:
        launcher.report()
        launcher.acknowledge()
        process.terminate()
        lines = ended(process, status=0)
    assert len(lines) == 1, lines
    assert re.fullmatch(line or r"einkorn: .*; only the launcher can find this kernel", lines[0])


# --- answers that are none ----------------------------------------------------


def wrong_answers(launcher):
    good = launcher.sign(b"ACK")
    return [
        ([DELIMITER, good[::-1], b"ACK"], "wrong or missing signature"),
        ([DELIMITER, b"", b"ACK"], "wrong or missing signature"),
        ([DELIMITER, good, b"NAK"], "wrong or missing signature"),
        ([DELIMITER, launcher.sign(launcher.content), launcher.content],
         "not an acknowledgement"),
        ([DELIMITER, launcher.sign(b"NAK"), b"NAK"], "not an acknowledgement"),
        ([DELIMITER, good], "not an acknowledgement"),
        ([good, b"ACK"], "not an acknowledgement"),
        ([DELIMITER, good, b"ACK", b"ACK"], "not an acknowledgement"),
        ([b""], "not an acknowledgement"),
    ]


def test_what_is_no_acknowledgement_is_passed_over(start, launch):
    """A wrong signature, an echo of the report, anything: the right one counts after them all."""
    class Confused(Specified):
        def acknowledge(self):
            for frames, line in wrong_answers(self):
                self.answer(*frames)
            super().acknowledge()

    launcher = launch(Confused)
    kernel = start(registration=launcher)
    lines = [IGNORED + line for _, line in wrong_answers(launcher)]
    kernel.expect_log(*lines)
    assert kernel.run("1") == [("result", text("1"))]
    wait_for_file(kernel.directory / "stderr", lambda log: log.splitlines() == lines)


def test_a_wrong_signature_alone_ends_the_kernel(launch, tmp_path):
    launcher = launch(Specified)
    with running(launcher, tmp_path) as process:
        launcher.report()
        launcher.answer(DELIMITER, b"0" * 64, b"ACK")
        lines = ended(process)
    assert lines[0] == IGNORED + "wrong or missing signature"
    assert len(lines) == 2 and "no acknowledgement of the ports" in lines[1]


@pytest.mark.parametrize("answer, why", [
    (lambda s: s.answer(compact({"status": "ok"})), "no <IDS|MSG> delimiter"),
    (lambda s: s.answer(DELIMITER, b"", b"{}", b"{}", b"{}", compact({"status": "ok"})),
     "wrong or missing signature"),
    (lambda s: s.reply({"status": "ok"}, kind="kernel_info_reply"), "not a handshake_reply"),
    (lambda s: s.reply({}), "a handshake_reply without a status"),
    (lambda s: s.reply([]), "a handshake_reply without a status"),
    (lambda s: s.reply({"status": 1}), "a handshake_reply without a status"),
])
def test_a_reply_that_means_nothing_ends_the_kernel(launch, tmp_path, answer, why):
    """A REQ gets one answer; if that is none, nothing better will come."""
    launcher = launch(Supervisor)
    with running(launcher, tmp_path) as process:
        launcher.report()
        answer(launcher)
        lines = ended(process)
    assert len(lines) == 2, lines
    assert lines[0] == IGNORED + why
    assert "no acknowledgement of the ports" in lines[1]


@pytest.mark.parametrize("content, said", [
    ({"status": "error", "error": "no such session"}, '"no such session"'),
    ({"status": "error"}, '"error"'),
])
def test_a_refusal_ends_the_kernel_at_once(launch, tmp_path, content, said):
    launcher = launch(Supervisor)
    with running(launcher, tmp_path) as process:
        launcher.report()
        launcher.reply(content)
        assert ended(process) == [f"einkorn: the launcher refused the registration, ending: {said}"]
    assert files(tmp_path) == []


# --- no answer ----------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_without_an_acknowledgement_the_kernel_ends(start, launch, form):
    """
    JEP 66: "A kernel should shutdown itself if it does not receive an acknowledge receipt". Until
    then nothing stands still: a cell runs, and the end takes it along.
    """
    class Silent(form):
        answers = False

    launcher = launch(Silent)
    kernel = start(registration=launcher)
    kernel.expect_log(FAILED)
    assert kernel.run("1") == [("result", text("1"))]
    assert time.monotonic() - launcher.reported < 5, "it has waited before it ran the cell"
    worker = kernel.worker
    kernel.started("print('go'); import time; time.sleep(99)")
    kernel.exit_status()  # the time that check_gone gives is not enough for both
    kernel.check_gone(status=1)
    assert wait_gone(worker)
    assert files(kernel.directory) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_late_acknowledgement_counts(start, launch, form):
    """It comes after the first cell; when the time would be over, the kernel still runs cells."""
    class Late(form):
        answers = False

    launcher = launch(Late)
    kernel = start(registration=launcher)
    assert kernel.run("1") == [("result", text("1"))]
    launcher.acknowledge()
    kernel.run("import time; time.sleep(5.5)")
    assert kernel.run("2") == [("result", text("2"))]


@pytest.mark.parametrize("form", FORMS)
def test_a_socket_that_is_not_there(launch, form, tmp_path):
    launcher = launch(form)
    launcher.close()
    with running(launcher, tmp_path) as process:
        lines = ended(process)
    assert lines == [f"einkorn: no acknowledgement of the ports from the launcher at "
                     f"tcp://127.0.0.1:{launcher.port} within 5 s, ending"]
    assert files(tmp_path) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_socket_that_vanishes_after_the_report(launch, form, tmp_path):
    launcher = launch(form)
    with running(launcher, tmp_path) as process:
        launcher.report()
        launcher.close()
        assert len(ended(process)) == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_socket_that_comes_late(launch, form, tmp_path):
    """The report waits for it."""
    launcher = launch(form)
    launcher.close()
    (tmp_path / "runtime").mkdir()
    with running(launcher, tmp_path) as process:
        name = launcher.kernel_id if form is Specified else process.pid
        wait_for_file(tmp_path / "runtime" / f"kernel-{name}.json")  # its sockets are there
        launcher.open(launcher.port)
        launcher.report()
        launcher.acknowledge()
        process.terminate()
        assert ended(process, status=0) == []


def test_told_to_end_while_it_waits(launch, tmp_path):
    launcher = launch(Specified)
    with running(launcher, tmp_path) as process:
        launcher.report()
        process.terminate()
        assert ended(process, status=0) == []
    assert files(tmp_path) == []


# --- files that are wrong -------------------------------------------------------

SPECIFIED = {"kernel_id": "k", "transport": "tcp", "registration_ip": "127.0.0.1",
             "registration_port": 1, "signature_scheme": "hmac-sha256", "key": "k"}
SUPERVISOR = {"transport": "tcp", "ip": "127.0.0.1", "registration_port": 1,
              "signature_scheme": "hmac-sha256", "key": "k"}


@pytest.mark.parametrize("fields, line", [
    ({**SPECIFIED, "registration_port": 0}, "registration_port must be an integer from 1 to 65535"),
    ({**SPECIFIED, "registration_port": "1"},
     "registration_port must be an integer from 1 to 65535"),
    ({**SUPERVISOR, "registration_port": None},
     "registration_port must be an integer from 1 to 65535"),
    ({k: v for k, v in SPECIFIED.items() if k != "kernel_id"}, "kernel_id is missing"),
    ({**SPECIFIED, "kernel_id": "../k"}, "kernel_id must be 1 to 128 letters, digits, dots, "
     "dashes and underscores"),
    ({**SPECIFIED, "kernel_id": 7}, "kernel_id must be a string"),
    ({k: v for k, v in SPECIFIED.items() if k != "registration_ip"}, "registration_ip is missing"),
    ({**SPECIFIED, "registration_ip": ""}, "registration_ip is empty"),
    ({**SPECIFIED, "shell_port": 1}, "it has shell_port too: ports are either given or asked for"),
    ({**SUPERVISOR, "transport": "udp"}, 'unknown transport "udp" (tcp and ipc are known)'),
    ({k: v for k, v in SUPERVISOR.items() if k != "ip"}, "ip is missing"),
    ({**SUPERVISOR, "key": 1}, "key must be a string"),
])
def test_a_wrong_registration_file_is_refused_in_one_line(tmp_path, fields, line):
    """Exit status 2, and the field that is wrong."""
    path = tmp_path / "r.json"
    path.write_bytes(compact(fields))
    result = run_kernel("kernel", "-f", path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"einkorn: registration file {path}: {line}\n"


def test_an_address_that_cannot_be_connected_to(launch, tmp_path):
    launcher = launch(Specified)
    file = {**launcher.file, "registration_ip": "a b", "ip": "127.0.0.1"}
    with running(launcher, tmp_path, file=file) as process:
        assert ended(process) == [f"einkorn: cannot report the ports to the launcher at "
                                  f"tcp://a b:{launcher.port}: Invalid argument, ending"]
