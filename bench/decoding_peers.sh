#!/bin/sh
# Makes an environment with those whom bench/decoding.py measures against: sh bench/decoding_peers.sh FOLDER
set -e
python3 -m venv "$1"
"$1/bin/pip" install --quiet torch transformers ctranslate2 safetensors
