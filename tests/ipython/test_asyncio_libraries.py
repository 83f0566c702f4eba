"""
asyncio inside libraries (issue 6, "asyncio"): what runs loops itself, and what needs the one that
runs, in one session in any order, without nest_asyncio.
"""

import itertools

import pytest

from client import text

SETUP = """
import asyncio, http.server, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(self.path[1:].encode())
    def log_message(self, *a): pass
http_server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
threading.Thread(target=http_server.serve_forever, daemon=True).start()
url = f'http://127.0.0.1:{http_server.server_port}/'

import httpx, anyio, trio
async def fetch(n):
    async with httpx.AsyncClient(trust_env=False) as client:
        return int((await client.get(url + str(n))).text)
async def trio_add(n):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, 0)
    return n
async def any_add(n):
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep, 0)
    return n
async def plain_add(n):
    await asyncio.sleep(0)
    return n
from jupyter_core.utils import run_sync
"""

WAYS = {
    "httpx, awaited": "await fetch({n})",
    "httpx in asyncio.run": "asyncio.run(fetch({n}))",
    "httpx in a task": "await asyncio.create_task(fetch({n}))",
    "httpx of the one loop": "asyncio.get_event_loop().run_until_complete(fetch({n}))",
    "httpx without asyncio": "int(httpx.get(url + '{n}', trust_env=False).text)",
    "httpx by anyio's trio": "anyio.run(fetch, {n}, backend='trio')",
    "trio.run": "trio.run(trio_add, {n})",
    "trio.run in an await": "await asyncio.to_thread(trio.run, trio_add, {n})",
    "anyio.run": "anyio.run(any_add, {n})",
    "anyio.run by trio": "anyio.run(any_add, {n}, backend='trio')",
    "anyio, awaited": "await any_add({n})",
    "anyio's worker thread": "await anyio.to_thread.run_sync(lambda: {n})",
    "run_sync of Jupyter": "run_sync(plain_add)({n})",
    "run_sync of Jupyter beside an await": "await plain_add(1)\nrun_sync(plain_add)({n})",
    "asyncio.run": "asyncio.run(plain_add({n}))",
    "await": "await plain_add({n})",
}


def every_pair(items):
    """A sequence in which each item stands once directly behind each other one, and itself."""
    following = {item: list(items) for item in items}
    path, found = [next(iter(items))], []
    while path:  # Hierholzer's way through all edges
        if following[path[-1]]:
            path.append(following[path[-1]].pop())
        else:
            found.append(path.pop())
    return found[::-1]


def test_every_library_works_behind_every_other(fresh):
    fresh.run(SETUP)
    order = every_pair(WAYS)
    assert set(itertools.pairwise(order)) == set(itertools.product(WAYS, WAYS))
    for n, (before, way) in enumerate(zip([None, *order], order)):
        shown = fresh.execute(WAYS[way].replace("{n}", str(n)))
        assert shown.status == "ok", (before, way, shown.traceback)
        assert (before, way, shown.outputs) == (before, way, [("result", text(str(n)))])


UVLOOP = """
import uvloop
uvloop.install()
async def kind():
    await asyncio.sleep(0)
    return type(asyncio.get_running_loop()).__module__
async def child(n):
    process = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)
    return int((await process.communicate(str(n).encode()))[0])
"""

UVLOOPS_WAYS = {
    "uvloop.run": "uvloop.run(plain_add({n}))",
    "a loop of uvloop's": "(loop := uvloop.new_event_loop()).run_until_complete(plain_add({n}))",
    "a loop of the policy's": "(loop := asyncio.new_event_loop()).run_until_complete(plain_add({n}))",
    "asyncio.run beside an await": "await plain_add(1)\nasyncio.run(plain_add({n}))",
    "uvloop.run beside an await": "await plain_add(1)\nuvloop.run(plain_add({n}))",
    "a child process": "asyncio.run(child({n}))",
    "a child process, awaited": "await child({n})",
    "a child process in a task of an earlier cell": "task = asyncio.create_task(child({n}))\nawait task",
}


def test_every_library_works_under_uvloops_policy(fresh):
    """And behind uvloop's own ways, twice; cells themselves await on the loop that they had."""
    fresh.run(SETUP)
    before = fresh.run("type(asyncio.get_running_loop()).__module__")
    fresh.run(UVLOOP)
    for n, (name, way) in enumerate([*WAYS.items(), *UVLOOPS_WAYS.items()] * 2):
        shown = fresh.execute(way.replace("{n}", str(n)))
        assert (name, shown.outputs) == (name, [("result", text(str(n)))])
    assert fresh.run("asyncio.run(kind()), uvloop.run(kind())") == [
        ("result", text("('uvloop', 'uvloop')"))]
    assert fresh.run("await kind()") == before
    running = fresh.started("print('go')\nawait asyncio.sleep(60)")
    fresh.interrupt()
    assert fresh.finished(running).error == ("KeyboardInterrupt", "")
    running = fresh.started("print('go')\nasyncio.run(asyncio.sleep(60))")
    fresh.interrupt()
    assert fresh.finished(running).error[0] == "KeyboardInterrupt"
    assert fresh.run("await plain_add(3)") == [("result", text("3"))]


PLAYWRIGHT = """
from playwright.async_api import async_playwright
from playwright.sync_api import sync_playwright
async def ask(n):
    async with async_playwright() as playwright:
        context = await playwright.request.new_context()
        return int(await (await context.get(url + str(n))).text())
def ask_at_once(n):
    with sync_playwright() as playwright:
        return int(playwright.request.new_context().get(url + str(n)).text())
"""


@pytest.mark.parametrize("policy", ["", "import uvloop\nuvloop.install()"], ids=["asyncio", "uvloop"])
def test_playwright_talks_to_its_driver(fresh, policy):
    """A child process that it asks over pipes; no browser is needed to fetch a page."""
    fresh.run(SETUP + policy + PLAYWRIGHT)
    ways = ["await ask({n})", "asyncio.run(ask({n}))", "ask_at_once({n})",
            "await asyncio.create_task(ask({n}))"]
    for n, way in enumerate(ways * 2):
        shown = fresh.execute(way.replace("{n}", str(n)), timeout=50)
        assert (way, shown.outputs) == (way, [("result", text(str(n)))])


def results(shown):
    """Without the stderr of the inner kernel, which says what it likes."""
    return [item for item in shown if item[0] != "stderr"]


NOTEBOOK = """
import nbformat, nbclient
def notebook():
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 6"), nbformat.v4.new_code_cell("x * 7")])
    return nbclient.NotebookClient(book, timeout=50, kernel_name="python3")
def result(book):
    return book.cells[1].outputs[0]["data"]["text/plain"]
"""


@pytest.mark.parametrize("code", [
    "result(notebook().execute())",
    "result(await notebook().async_execute())",
    "import asyncio\nawait asyncio.sleep(0)\nresult(notebook().execute())",
    "async def inside():\n    return result(notebook().execute())\nawait inside()",
    "import asyncio\nresult(asyncio.run(notebook().async_execute()))",
    "result(nbclient.execute(notebook().nb))",
], ids=["plain", "awaited", "beside an await", "inside an await", "asyncio.run", "function"])
def test_nbclient_runs_a_notebook_within_a_cell(kernel, code):
    """ipykernel is the inner kernel."""
    kernel.run(NOTEBOOK)
    assert results(kernel.run(code, timeout=50)) == [("result", text("'42'"))]


def test_a_kernel_of_jupyter_client_within_a_cell(kernel):
    """Blocking and async managers, one after the other."""
    code = ("from jupyter_client.manager import start_new_kernel, start_new_async_kernel\n"
            "manager, client = start_new_kernel(kernel_name='python3')\n"
            "a = client.execute_interactive('1', timeout=40, output_hook=lambda m: None)['content']['status']\n"
            "client.stop_channels(); manager.shutdown_kernel(now=True)\n"
            "manager, client = await start_new_async_kernel(kernel_name='python3')\n"
            "reply = await client.execute('1', reply=True, timeout=40)\n"
            "client.stop_channels(); await manager.shutdown_kernel(now=True)\n"
            "a, reply['content']['status']")
    assert results(kernel.run(code, timeout=50)) == [("result", text("('ok', 'ok')"))]


def test_somebody_imports_nest_asyncio_anyway(fresh):
    """It patches asyncio and the loop; every way goes on working, and nested runs then work too."""
    fresh.run(SETUP)
    fresh.run("import nest_asyncio2\nnest_asyncio2.apply()")
    for n, way in enumerate([*WAYS, *WAYS]):
        shown = fresh.execute(WAYS[way].replace("{n}", str(n)))
        assert (way, shown.outputs) == (way, [("result", text(str(n)))])
    assert fresh.run("async def nested():\n    return asyncio.run(plain_add(3))\nawait nested()") == [
        ("result", text("3"))]
    running = fresh.started("print('go')\nawait asyncio.sleep(60)")
    fresh.interrupt()
    assert fresh.finished(running).error == ("KeyboardInterrupt", "")
    assert fresh.run("await asyncio.sleep(0, 1)") == [("result", text("1"))]
