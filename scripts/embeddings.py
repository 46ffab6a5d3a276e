"""Serves the vectors of a small model, for tests, with the embeddings API of OpenAI.

usage: embeddings.py MODEL.onnx TOKENIZER.json [PORT]

It prints its port. The vectors are those of the first token, as the models of the family BGE
want it. Needs the packages onnxruntime and tokenizers.
"""
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy
import onnxruntime
import tokenizers

MOST_TOKENS, AT_ONCE, MOST_BYTES = 512, 8, 1 << 20
session = onnxruntime.InferenceSession(sys.argv[1])
inputs = {i.name for i in session.get_inputs()}
tokenizer = tokenizers.Tokenizer.from_file(sys.argv[2])
tokenizer.enable_truncation(MOST_TOKENS)
tokenizer.enable_padding()
running = threading.Lock()


def vectors(texts):
    """Returns the vectors of texts, in their order."""
    found = [None] * len(texts)
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # texts of about the same length need least padding
    for start in range(0, len(texts), AT_ONCE):
        some = order[start:start + AT_ONCE]
        with running:  # other requests get their turn after each few texts
            tokens = tokenizer.encode_batch([texts[i] for i in some])
            given = {
                "input_ids": [t.ids for t in tokens],
                "attention_mask": [t.attention_mask for t in tokens],
                "token_type_ids": [t.type_ids for t in tokens],
            }
            reply = session.run(None, {name: numpy.array(v, dtype=numpy.int64) for name, v in given.items() if name in inputs})
        for i, vector in zip(some, reply[0][:, 0]):
            found[i] = [round(float(x), 6) for x in vector / numpy.linalg.norm(vector)]
    return found


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        size = int(self.headers.get("Content-Length", 0))
        if self.path != "/v1/embeddings" or size > MOST_BYTES:
            self.send_error(400)
            self.close_connection = True
            return
        asked = json.loads(self.rfile.read(size))
        data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors(asked["input"]))]
        reply = json.dumps({"object": "list", "model": asked["model"], "data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[3]) if len(sys.argv) > 3 else 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
