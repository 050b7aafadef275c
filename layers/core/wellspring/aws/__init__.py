"""The AWS side of the ports: each adapter maps foreign errors once."""
