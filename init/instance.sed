# Makes the template unit outbox-master@NAME from outbox-master.service, with a
# configuration, variables and a run directory for each NAME.
1c\
# systemd unit of outbox-master for one of several databases\
#\
# "systemctl enable --now outbox-master@NAME" runs the configuration\
# outbox/NAME.yml, which must have a master.pidfile below /run/outbox/NAME.
s|edit outbox-master"|edit outbox-master@"|
s|^\(Description=.*\)|\1, %i|
s|^\(Environment=CONF=.*/outbox\)\.yml$|\1/%i.yml|
s|^\(EnvironmentFile=.*/outbox-master\)$|\1@%i|
s|^\(RuntimeDirectory=.*\)|\1/%i|
