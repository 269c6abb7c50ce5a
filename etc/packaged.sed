# Makes /etc/outbox.yml of a package from outbox.yml: the name of the database
# must be set before the daemon starts.
s|^  database: app  |  database: ""   |
