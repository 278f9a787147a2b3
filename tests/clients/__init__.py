"""Client frameworks as judges: real packages, with all that they set by default, against a gateway.

    openai3/   Python packages that run on openai 3: the client itself, Anthropic's client,
               LangChain over both, OpenAI Agents, Pydantic AI, LiteLLM
    openai2/   Python packages that need an older one: Instructor
    node/      npm packages: openai, Anthropic's client, OpenAI Agents, the AI SDK,
               and agents of the command line

Each folder lists its packages and has one file of tests per framework. The noise worker writes the
answers: valid, and random otherwise. So a framework's own types are the judge, and loops end by
the turns that they are given. `make test-clients` installs the packages and runs all of it; `make
test` does not come here.
"""
