# Makes /etc/outbox.yml of a package from outbox.yml: the database is a server on
# this host, and its name must be set before the daemon starts.
s|^  hosts: \[127.0.0.1:3306\]  |  # hosts: [127.0.0.1:3306]|
s|^  socket: "" .*|  socket: /run/mysqld/mysqld.sock               # or hosts|
s|^  database: app  |  database: ""   |
