"""The methods of ``host``, as a table: what a cell may pass, and how it goes over the wire.

``METHODS`` has the rows of ``host`` and of each of its namespaces, ``name: (shape, signature,
summary)``.

shape      NAMED: the arguments are one dict, keyed by the names of the parameters;
           PLAIN: they are sent one after the other.  What the codec does to a dict is in
           ``host_values.encode``.
signature  parameters as Python writes them.  Where the default is a list or a dict, None and
           anything empty mean the default.  A parameter ``full`` is not sent: it asks for the
           method's ``_full`` form.
summary    the first line of its help.

The method that is called is the row's name, after the name of its namespace and ``_`` if it is in
one; ``WIRE_NAMES`` has those that are called otherwise.  The few methods that look at their
arguments or at the answer have a function in ``host_values`` (``BEFORE``, ``AFTER``).
"""

NAMED, PLAIN = "named", "plain"

METHODS = {
    "host": {
        # language models
        "llm": (NAMED, "request, *, max_tokens=1024, temperature=0.7, max_concurrency=None",
                "Ask a language model: a prompt, a dict with 'prompt' or 'messages', or a list."),
        "current_model": (PLAIN, "", "The name of the model that runs this session."),
        "list_models": (PLAIN, "", "The models there are."),
        "judge": (NAMED, "template, state, **params",
                  "Have the host judge a state by one of its templates."),
        # artifacts
        "artifacts": (NAMED, "**filters", "List artifacts, those that match the filters."),
        "artifact_path": (PLAIN, "version_id", "The path of the file of an artifact's version."),
        "save_artifact": (NAMED, "path, filename=None, *, content_type=None, input_version_ids=[], "
                                 "producing_cell_id=None, priority=0, source=None",
                          "Keep a file of the workspace as a version of an artifact."),
        "materialise_artifact": (NAMED, "version_id, *, filename=None",
                                 "Bring another session's version into this one's workspace."),
        "view_image": (NAMED, "version_id=None, *, path=None", "Show an image in the host."),
        "artifact_marker": (PLAIN, "version_id", "The text that stands for a version."),
        # the session and what it may do
        "frames": (NAMED, "*, frame_id=None, pattern=None, project_id='default', status=None, "
                          "roots_only=True, page=0, page_size=50, limit=50",
                   "Look at the tree of turns: one frame, a search in all, or a page of them."),
        "capabilities": (PLAIN, "", "What this host can do."),
        "get_user_email": (PLAIN, "", "The user's address, if the user gives it."),
        # cells in the background
        "exec_background": (NAMED, "code, *, origin='agent'", "Start a cell, do not wait for it."),
        "exec_peek": (PLAIN, "exec_id", "What a cell in the background has printed so far."),
        "exec_interrupt": (PLAIN, "exec_id", "Interrupt a cell in the background."),
        "exec_list": (PLAIN, "", "The cells in the background."),
        # other agents
        "delegate": (NAMED, "request, *, task=None, name=None, context_summary=None, "
                            "output_schema=None, steps=None, max_steps=None, max_turns=None, "
                            "permissions=None, capabilities=None, unrestricted=None, wait=True",
                     "Give a task, or a list of them, to other agents."),
        "children": (PLAIN, "", "The agents that this one started."),
        "collect": (NAMED, "child_ids=None, *, timeout=None",
                    "Wait for the results of agents that were started with wait=False."),
        "stop_child": (PLAIN, "child_id", "Stop an agent."),
        "send_message": (NAMED, "child_id, message", "Tell a running agent something."),
        "delegation_stats": (PLAIN, "", "Counts over all agents below this one."),
        "submit_output": (NAMED, "output, completion_bullets, *, output_schema=None",
                          "Hand in the result, and one to four lines on what was done."),
        # skills
        "search_skills": (NAMED, "query, *, limit=5", "Find skills, with their whole text."),
        "skill": (PLAIN, "name", "What is known of one skill, without its text."),
        "load_skill": (PLAIN, "name", "The text of a skill."),
        # files of the workspace
        "read_file": (NAMED, "path, *, offset=0, limit=2000", "Read lines of a file."),
        "write_file": (NAMED, "path, content", "Write a file."),
        "edit_file": (NAMED, "path, old_string, new_string, *, replace_all=False",
                      "Replace a text in a file."),
        "glob": (NAMED, "pattern, *, path=None", "Find files by their names."),
        "grep": (NAMED, "pattern, *, path=None, include=None", "Find lines in files."),
        "list_dir": (NAMED, "path='.'", "List a directory."),
        # the network
        "web_fetch": (NAMED, "url, *, format='markdown', timeout=30, max_chars=20000, "
                             "method='GET', user_agent=None", "Read a page."),
        "web_download": (NAMED, "url, path, *, max_bytes=None, timeout=60, user_agent=None",
                         "Write what is at an address into a file of the workspace."),
        "web_search": (NAMED, "query, *, num_results=8, timeout=20", "Search the web."),
        "request_network_access": (NAMED, "domain, *, reason=None",
                                   "Ask the user to allow one more domain."),
        # machines with GPUs
        "remote_gpu_status": (NAMED, "", "The machines with GPUs, and what they are set up for."),
        "register_remote_capability": (
            NAMED, "alias, capability, *, script='', engine='', invoke='', markers={}, notes='', "
                   "probe=None, verify_command=''", "Tell the host what a machine can do."),
        "fold": (NAMED, "sequence, *, name='protein', gpu=0, cycle=10, step=40",
                 "Predict the structure of a protein."),
        "score_mutations": (NAMED, "sequence, *, name='protein', positions=None, gpu=0",
                            "Score the substitutions in a protein."),
        # tasks, plan, memory
        "todo_write": (NAMED, "todos", "Set the list of tasks."),
        "todo_read": (PLAIN, "", "The list of tasks."),
        "plan_update": (NAMED, "step_id, status, note=None", "Say how a step of the plan stands."),
        "plan_read": (PLAIN, "", "The plan, and how its steps stand."),
        "review_status": (PLAIN, "", "What the review of the evidence has found."),
        "remember": (NAMED, "content, *, block='general'", "Keep a fact for later sessions."),
    },
    "host.skills": {
        "list": (PLAIN, "", "The skills there are."),
        "get": (PLAIN, "name", "What is known of one skill, without its files."),
        "read": (NAMED, "name, path='SKILL.md'", "Read a file of a skill."),
        "edit": (NAMED, "name, path, content, old_string=None",
                 "Write a file of a skill, or replace a text in it."),
        "publish": (PLAIN, "name", "Make a draft one of the user's skills."),
        "delete": (PLAIN, "name", "Delete a skill."),
        "status": (NAMED, "name, scope='personal'", "The version that is in use."),
        "history": (NAMED, "name, scope='personal', limit=50", "The versions there were."),
        "rollback": (NAMED, "name, version_id, scope='personal'", "Use an earlier version."),
    },
    "host.query": {
        "__call__": (NAMED, "sql, params=[], limit=None, df=False, scope='project'",
                     "Read the host's data by SQL; df=True: as a DataFrame, if pandas is here."),
        "schema": (PLAIN, "", "The tables that can be read, with their columns."),
    },
    "host.lineage": {
        "__getitem__": (PLAIN, "version_id", "Where a version comes from."),
        "graph": (NAMED, "version_id, direction='up', max_depth=None, max_nodes=None",
                  "What a version was made of ('up'), or what was made of it ('down')."),
    },
    "host.endpoints": {
        "list": (PLAIN, "", "The services that were registered."),
        "free_port": (PLAIN, "", "Reserve a port."),
        "register": (NAMED, "name, **spec", "Register a service."),
        "status": (PLAIN, "name", "How a service is."),
        "probe": (PLAIN, "name", "Ask a service whether it answers."),
    },
    "host.credentials": {
        "set": (NAMED, "name, value", "Keep a secret."),
        "issue": (NAMED, "name, *, purpose='host credential access', ttl_seconds=30.0",
                  "A token for a secret, good for a short time."),
        "redeem": (PLAIN, "token", "The secret for a token."),
        "list": (PLAIN, "", "The names of the secrets."),
    },
    "host.mcp": {
        "list": (PLAIN, "", "The servers that are connected."),
        "tools": (PLAIN, "server", "The tools of a server."),
        "resources": (NAMED, "server, *, cursor=None", "The resources of a server."),
        "read_resource": (NAMED, "server, uri", "Read a resource."),
        "prompts": (NAMED, "server, *, cursor=None", "The prompts of a server."),
        "get_prompt": (NAMED, "server, name, arguments={}", "The messages of a prompt."),
        "call": (NAMED, "server, tool, args={}", "Call a tool."),
    },
    "host.env": {
        "list": (NAMED, "packages=[]", "The environments, and which of them have the packages."),
        "use": (NAMED, "name", "Have the next cells run in another environment."),
        "list_dependencies": (NAMED, "packages=[]", "The same as list."),
        "create": (NAMED, "name=None, packages=[]", "Install packages."),
    },
    "host.app": {
        "render": (NAMED, "kind, payload", "Show a tile in the host's window."),
        "tiles": (PLAIN, "", "The kinds of tiles."),
    },
    "host.science": {
        "list_databases": (NAMED, "domain='all'", "The databases that can be searched."),
        "search": (NAMED, "database, query, *, limit=10, cursor=None, filters=None, timeout=30.0",
                   "Search a database."),
    },
    "host.lab": {
        "list": (PLAIN, "", "The simulated devices, and this session's runs."),
        "describe": (NAMED, "device_id, profile=None", "What a device can do."),
        "create": (NAMED, "device_id, profile, *, seed=None, budgets=None, idempotency_key=None",
                   "Begin a run."),
        "observe": (NAMED, "run_id, *, full=False", "The last observation of a run."),
        "execute": (NAMED, "run_id, operation, *, source=None, target=None, parameters=None, "
                           "expected_revision, idempotency_key=None", "Do something in a run."),
        "status": (NAMED, "run_id, command_id=None", "How a run or one of its commands stands."),
        "stop": (NAMED, "run_id, reason=None", "End a run."),
        "export": (NAMED, "run_id", "Keep what a run has given as artifacts."),
        "commands": (NAMED, "run_id, *, after_seq=0, limit=50", "The commands of a run."),
        "observations": (NAMED, "run_id, *, after_sequence=-1, limit=20, full=False",
                         "The observations of a run."),
    },
}  # fmt: skip

WIRE_NAMES = {
    "host.skill": "skills_get",
    "host.query.__call__": "query",
    "host.lineage.__getitem__": "lineage_get",
    "host.mcp.read_resource": "mcp_resource_read",
    "host.mcp.get_prompt": "mcp_prompt_get",
    "host.env.list_dependencies": "env_list",
    "host.env.create": "env_setup",
    "host.science.list_databases": "science_list_dbs",
}
