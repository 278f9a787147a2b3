"""Random compositions of all keywords, and ordinary schemas with `uniqueItems`.

compositions   random schemas            unique_items   the ordinary ones
instances      values made for a schema  walks          walks through masks that end soon
cases          one schema, checked       watched        workers under a watchdog
shrink         a smaller schema with the same finding
"""
