"""Workers with data-parallel ranks behind a real gateway, while ranks fail, come and go.

fake        a worker with ranks, as SGLang's data-parallel controller has them
campaign    what happens to its ranks while requests come, and what came of them
"""
