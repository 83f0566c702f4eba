"""--facts of a cell that IPython runs: its file has another name, and it is told all the same."""


def test_a_cell_with_a_magic_tells_its_files(start, tmp_path):
    (tmp_path / "a.txt").write_text("text")
    kernel = start(args=["--facts"], cwd=tmp_path)
    for code in ("%xmode Minimal\nx = open('a.txt').read()", "get_ipython()\nopen('a.txt').close()"):
        facts = kernel.execute(code).reply.metadata["einkorn"]
        assert facts["files_read"] == ["a.txt"], code
    assert kernel.execute("%xmode Minimal").reply.metadata["einkorn"]["files_read"] == []
