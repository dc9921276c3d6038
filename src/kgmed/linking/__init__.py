"""From words to entities: recognisers and linkers."""
