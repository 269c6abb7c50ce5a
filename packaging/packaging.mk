# Release and packages: make dist, deb, rpm, image, sbom, release

# The time of all files in the release tarball: of the last commit, or of the
# tarball that this was unpacked from.

dist_epoch = $$(if test -n "$$SOURCE_DATE_EPOCH"; then \
	echo "$$SOURCE_DATE_EPOCH"; \
	elif test -e $(srcdir)/.git; then \
	git -C $(srcdir) log -1 --format=%ct; \
	else stat -c %Y $(srcdir)/configure.ac; fi)

# Packages.  All are built from the release tarball.

EXTRA_DIST += etc/packaged.sed packaging/outbox-master.spec.in \
	packaging/readme.sed packaging/html packaging/manual.css \
	packaging/image packaging/compose.yml packaging/kubernetes.yml \
	packaging/rpmlint.toml packaging/sbom \
	debian/README.Debian debian/changelog \
	debian/control debian/copyright \
	debian/outbox-master.lintian-overrides \
	debian/outbox-master.dirs debian/outbox-master.docs \
	debian/outbox-master.postinst debian/outbox-master.postrm \
	debian/outbox-master.prerm debian/rules debian/source/format

.PHONY: image
image: deb
	rm -rf image
	$(srcdir)/packaging/image deb/$(PACKAGE)_*.deb image

.PHONY: deb
deb: dist
	rm -rf deb && $(MKDIR_P) deb
	cp $(distdir).tar.xz deb/$(PACKAGE)_$(VERSION).orig.tar.xz
	cd deb && tar xf $(PACKAGE)_$(VERSION).orig.tar.xz
	cd deb/$(distdir) && dpkg-buildpackage -b -us -uc
	rm -rf deb/$(distdir)
	@ls deb/*.deb

outbox-master.spec: $(srcdir)/packaging/outbox-master.spec.in Makefile
	$(AM_V_GEN)$(SED) 's|@VERSION[@]|$(VERSION)|' \
	    $(srcdir)/packaging/outbox-master.spec.in > $@
CLEANFILES += outbox-master.spec

# Debian's rpm does not know the packages of Debian.

.PHONY: rpm
rpm: dist outbox-master.spec
	rm -rf rpm && $(MKDIR_P) rpm/SOURCES
	cp $(distdir).tar.xz rpm/SOURCES
	rpmbuild -bb --define '_topdir $(abs_builddir)/rpm' \
	    `test ! -e /etc/debian_version || echo --nodeps` outbox-master.spec
	rm -rf rpm/BUILD rpm/BUILDROOT
	@ls rpm/RPMS/*/*.rpm

# What the programs are made of, with versions; packaging/sbom.

sbom = $(PACKAGE)-$(VERSION).cdx.json
CLEANFILES += $(sbom)
.PHONY: sbom
sbom: outbox-master outboxctl
	$(srcdir)/packaging/sbom $(PACKAGE) $(VERSION) outbox-master outboxctl \
	    > $(sbom).tmp
	mv $(sbom).tmp $(sbom)
	@echo $(sbom)

# What is published: tarball, bill of materials, checksums, signatures.

RELEASE_KEY =
GPG = gpg
.PHONY: release
release:
	@test -n "$(RELEASE_KEY)" || { echo 'make release: no key to sign with:' \
	    'make release RELEASE_KEY=ADDRESS' >&2; exit 1; }
	@$(GPG) --list-secret-keys '$(RELEASE_KEY)' > /dev/null 2>&1 || { \
	    echo 'make release: gpg has no secret key of $(RELEASE_KEY);' \
	    'gpg --list-secret-keys has those that it has' >&2; exit 1; }
	$(MAKE) $(AM_MAKEFLAGS) dist sbom
	rm -rf release && $(MKDIR_P) release
	mv $(distdir).tar.xz $(sbom) release
	cd release && sha256sum $(distdir).tar.xz $(sbom) > SHA256SUMS && \
	    for f in $(distdir).tar.xz SHA256SUMS; do \
		$(GPG) --batch --local-user '$(RELEASE_KEY)' --armor \
		    --detach-sign "$$f" || exit 1; \
	    done
	@ls release
