"""Client frameworks as judges: real packages, with all that they set by default, against a gateway.

    openai3/   Python packages that run on openai 3: the client itself, LangChain, OpenAI Agents,
               Pydantic AI
    openai2/   Python packages that need an older one: Instructor, LiteLLM
    node/      npm packages: openai, OpenAI Agents, the AI SDK

Each folder lists its packages and has one file of tests per framework. The noise worker writes the
answers: valid, and random otherwise. So a framework's own types are the judge, and loops end by
the turns that they are given. `make test-clients` installs the packages and runs all of it; `make
test` does not come here.
"""
