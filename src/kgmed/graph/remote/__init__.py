"""Knowledge graphs whose answers come from a server, under the same protocol, and the cache in front of them."""
