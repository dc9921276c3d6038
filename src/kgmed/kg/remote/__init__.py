"""Knowledge graphs whose answers come from a server, under the same protocol, and the cache that keeps them."""
