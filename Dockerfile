# The images of the project: `docker build --target NAME`.
#
#   gateway           the gateway, in front of SGLang workers or with the noise worker
#   worker-embedded   the gateway with a model in its process, on the CPU
#   worker-sglang     an SGLang server with the plug-in
#
# The engine compiles in a stage that has only compiled sources, and dependencies install in a stage that has only the
# lock files (`make lock`). So a change in app, cache or adapters builds a wheel and copies it, in seconds.
# The targets stand in this order because the builder without BuildKit builds every stage above a target.

ARG SGLANG_IMAGE=lmsysorg/sglang:v0.5.23

FROM python:3.11-slim-bookworm AS engine
RUN apt-get update \
 && apt-get install -y --no-install-recommends g++ \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY deploy/requirements/build.txt ./
RUN python -m pip install --no-cache-dir --only-binary :all: --require-hashes -r build.txt
COPY setup.py ./
COPY engine engine
COPY adapters/text_path adapters/text_path
RUN python setup.py --quiet build_ext

FROM engine AS wheel
COPY pyproject.toml README.md LICENSE ./
COPY cache cache
COPY adapters adapters
COPY app app
# --skip-build: the library is already there
RUN python setup.py --quiet build_py bdist_wheel --skip-build --dist-dir /wheels

FROM python:3.11-slim-bookworm AS dependencies
RUN apt-get update \
 && apt-get install -y --no-install-recommends binutils \
 && rm -rf /var/lib/apt/lists/*
COPY deploy/requirements/gateway.txt ./
# --only-binary: a dependency without a wheel fails here, not in a compiler that is missing. The 3,000 modules of
# transformers/models are not compiled: a tokenizer imports two or three of them. Symbols are 21 MB, 12 of them
# uvloop's. A stripped numpy does not load: its libraries are no longer aligned to pages.
RUN python -m venv --without-pip /opt/python \
 && python -m pip --python /opt/python/bin/python install --no-cache-dir --no-compile --only-binary :all: \
      --require-hashes -r gateway.txt \
 && find /opt/python -name tests -type d -prune -exec rm -rf {} + \
 && find /opt/python -name '*.so' ! -path '*/numpy*' -exec strip --strip-unneeded {} + \
 && /opt/python/bin/python -m compileall -q -x transformers/models /opt/python/lib \
 && echo /opt/switchyard > "$(echo /opt/python/lib/python3*/site-packages)/switchyard.pth"

FROM dependencies AS installed
COPY --from=wheel /wheels /wheels
RUN python -m pip --python /opt/python/bin/python install --no-cache-dir --no-deps --target /opt/switchyard /wheels/*.whl

# Without a model, transformers only loads tokenizers.
FROM dependencies AS tokenizers-only
RUN cd /opt/python/lib/python3*/site-packages/transformers/models \
 && find . -name '*.py' ! -name __init__.py ! -name 'configuration_*' ! -name 'tokenization_*' ! -path './auto/*' -delete

FROM python:3.11-slim-bookworm AS runtime
# the only folders that the gateway writes to: models from the Hugging Face hub, and temporary files
RUN install -d -o 10001 -g 10001 /cache /cache/huggingface
ENV PATH=/opt/switchyard/bin:/opt/python/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HF_HOME=/cache/huggingface \
    SWITCHYARD_HOST=0.0.0.0
USER 10001:10001
WORKDIR /tmp
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:%s/health/live' % os.environ.get('SWITCHYARD_PORT', '8000'), timeout=2)"]
ENTRYPOINT ["switchyard"]
CMD ["serve"]

FROM runtime AS gateway
COPY --from=tokenizers-only /opt/python /opt/python
COPY --from=installed /opt/switchyard /opt/switchyard

FROM dependencies AS torch
# The CPU build of torch is not on PyPI; its index has no hashes that PyPI's tools could lock.
ARG TORCH=2.13.0
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
COPY deploy/requirements/embedded.txt ./
RUN python -m pip install --no-cache-dir --no-compile --only-binary :all: --target /opt/torch \
      --require-hashes -r embedded.txt \
 && python -m pip install --no-cache-dir --no-compile --only-binary :all: --target /opt/torch \
      --no-deps --index-url "$TORCH_INDEX" "torch==$TORCH"

FROM runtime AS worker-embedded
COPY --from=dependencies /opt/python /opt/python
COPY --from=torch /opt/torch /opt/torch
ENV PYTHONPATH=/opt/torch
COPY --from=installed /opt/switchyard /opt/switchyard

# SGLang's image has another Python than the gateway's, so the engine compiles again.
FROM ${SGLANG_IMAGE} AS sglang-wheel
WORKDIR /src
COPY deploy/requirements/build.txt ./
RUN python3 -m pip install --no-cache-dir --only-binary :all: --require-hashes -r build.txt
COPY setup.py ./
COPY engine engine
COPY adapters/text_path adapters/text_path
RUN python3 setup.py --quiet build_ext
COPY pyproject.toml README.md LICENSE ./
COPY cache cache
COPY adapters adapters
COPY app app
RUN python3 setup.py --quiet build_py bdist_wheel --skip-build --dist-dir /wheels

FROM ${SGLANG_IMAGE} AS worker-sglang
# the cache needs only redis; SGLang's pinned versions do not change
COPY deploy/requirements/sglang.txt /tmp/
RUN python3 -m pip install --no-cache-dir --only-binary :all: --no-deps --require-hashes -r /tmp/sglang.txt
COPY --from=sglang-wheel /wheels /wheels
RUN python3 -m pip install --no-cache-dir --no-deps /wheels/*.whl
COPY deploy/sglang/serve /usr/local/bin/serve
# models, and the kernels that torch, Triton, FlashInfer and DeepGEMM compile: all below HOME
ENV HOME=/cache \
    HF_HOME=/cache/huggingface
WORKDIR /cache
EXPOSE 30000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30m --retries=3 \
    CMD ["curl", "-fsS", "http://127.0.0.1:30000/health"]
ENTRYPOINT ["serve"]
