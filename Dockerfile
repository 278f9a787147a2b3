# The gateway. The first stage builds the wheel. The second stage installs it, with its dependencies, into a slim
# base without compilers, and runs as an unprivileged user.
#
#   docker build -t switchyard . && docker run --rm -p 127.0.0.1:8000:8000 switchyard

FROM python:3.11-slim-bookworm AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends g++ \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY pyproject.toml setup.py README.md LICENSE ./
COPY engine engine
COPY cache cache
COPY adapters adapters
COPY app app
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim-bookworm
COPY --from=build /wheels /wheels
# --only-binary: a dependency without a wheel fails here, not in a compiler that is missing
RUN python -m venv /opt/switchyard \
 && /opt/switchyard/bin/pip install --no-cache-dir --only-binary :all: "$(echo /wheels/switchyard-*.whl)[gateway]"
ENV PATH=/opt/switchyard/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HF_HOME=/tmp/huggingface \
    SWITCHYARD_HOST=0.0.0.0
USER 10001:10001
WORKDIR /tmp
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:%s/health/live' % os.environ.get('SWITCHYARD_PORT', '8000'), timeout=2)"]
ENTRYPOINT ["switchyard"]
CMD ["serve"]
