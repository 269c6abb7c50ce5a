# Makes the README.md of a package: a link to what only the sources have becomes
# its name.  The examples are installed beside it.
/^  !\[.*\](doc\/pictures\/[^)]*)$/d
s,\[\([^]]*\)\](\(doc/[^)]*\|[A-Z]*\.md\)),\2 in the sources,g
