"""A stub of both forges' API: comments of a pull request, and of a merge request as notes. It
records what is posted."""

import contextlib
import http.server
import json
import re
import threading
import time

BOT, ME = "github-actions[bot]", 7


class Api(http.server.ThreadingHTTPServer):
    """Both APIs. Also serves files."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.comments, self.files, self.calls, self.refused, self.stalls = [], {}, [], {}, False
        self.viewer = BOT
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def add(self, body, author):
        number = len(self.comments) + 1
        person = {"login": author} if isinstance(author, str) else None
        self.comments.append({"id": number, "body": body, "user": person, "author": {"id": author}})

    def posted(self):
        """Methods and bodies of requests that write comments."""
        return [(method, data["body"]) for method, path, data in self.calls if data and "body" in data]


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers a request."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer()

    do_POST = do_PATCH = do_PUT = do_GET

    def answer(self):
        api, path = self.server, self.path.partition("?")[0]
        size = int(self.headers.get("Content-Length") or 0)
        data = json.loads(self.rfile.read(size)) if size else None
        api.calls.append((self.command, self.path, data))
        if path in api.files:
            return self.send(200, api.files[path])
        if api.stalls:
            time.sleep(3)
        if not (self.headers.get("Authorization") == "Bearer secret" or self.headers.get("PRIVATE-TOKEN") == "secret"):
            return self.reply(401, {})
        if self.command in api.refused:
            return self.reply(api.refused[self.command], {"message": "no"})
        if path == "/graphql":
            return self.reply(200, {"data": {"viewer": {"login": api.viewer}}})
        if path == "/user":
            return self.reply(200, {"id": ME})
        if not re.fullmatch(r"/repos/o/r/issues/(5/)?comments(/\d+)?|/projects/9/merge_requests/5/notes(/\d+)?", path):
            return self.reply(404, {})
        if self.command == "GET":
            first = (int(re.search(r"[?&]page=(\d+)", self.path)[1]) - 1) * 100
            return self.reply(200, api.comments[first:first + 100])
        if self.command == "POST":
            api.add(data["body"], BOT if "/repos/" in path else ME)
            return self.reply(201, api.comments[-1])
        found = [comment for comment in api.comments if path.endswith(f"/{comment['id']}")]
        for comment in found:
            comment["body"] = data["body"]
        return self.reply(200 if found else 404, found)

    def reply(self, status, value):
        self.send(status, json.dumps(value).encode())

    def send(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)
