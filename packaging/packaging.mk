# Release and packages: make dist, deb, rpm, image, sbom, release

# The time of all files in the release tarball: of the last commit, or of the
# tarball that this was unpacked from.

dist_epoch = $$(if test -n "$$SOURCE_DATE_EPOCH"; then \
	echo "$$SOURCE_DATE_EPOCH"; \
	elif test -e $(srcdir)/.git; then \
	git -C $(srcdir) log -1 --format=%ct; \
	else stat -c %Y $(srcdir)/configure.ac; fi)

# The address of those who publish stands in packaging/contact; in the tarball
# also where a placeholder is in the repository.  packaging/commit, which only
# the tarball has, tells what it was made of.

contact = $$(cat $(srcdir)/packaging/contact)

dist-hook:
	$(SED) -i "s|maintainers@outbox-master\.example|$(contact)|" \
	    $(distdir)/debian/control $(distdir)/debian/changelog
	if test -e $(srcdir)/.git; then \
	    git -C $(srcdir) rev-parse HEAD > $(distdir)/packaging/commit; \
	elif test -e $(srcdir)/packaging/commit; then \
	    cp $(srcdir)/packaging/commit $(distdir)/packaging/commit; \
	else echo unknown > $(distdir)/packaging/commit; fi

# Packages.  All are built from the release tarball.  Their files have the date of
# the release, that of debian/changelog, at most.

EXTRA_DIST += etc/packaged.sed packaging/outbox-master.spec.in \
	packaging/readme.sed packaging/html packaging/manual.css \
	packaging/contact packaging/provenance packaging/release \
	packaging/image packaging/compose.yml packaging/kubernetes.yml \
	packaging/rpmlint.toml packaging/sbom \
	debian/README.Debian debian/changelog \
	debian/control debian/copyright \
	debian/outbox-master.lintian-overrides \
	debian/outbox-master.dirs debian/outbox-master.docs \
	debian/outbox-master.postinst debian/outbox-master.postrm \
	debian/outbox-master.prerm debian/rules debian/source/format

release_date = $$($(SED) -n 's/^ -- .*>  //p' $(srcdir)/debian/changelog | \
	$(SED) 1q)
release_epoch = $$(date -d "$(release_date)" +%s)

.PHONY: image
image: deb
	rm -rf image
	SOURCE_DATE_EPOCH=$(release_epoch) \
	    $(srcdir)/packaging/image deb/$(PACKAGE)_*.deb image

.PHONY: deb
deb: dist
	rm -rf deb && $(MKDIR_P) deb
	cp $(distdir).tar.xz deb/$(PACKAGE)_$(VERSION).orig.tar.xz
	cd deb && tar xf $(PACKAGE)_$(VERSION).orig.tar.xz
	cd deb/$(distdir) && dpkg-buildpackage --sanitize-env -b -us -uc
	rm -rf deb/$(distdir)
	@ls deb/*.deb

outbox-master.spec: $(srcdir)/packaging/outbox-master.spec.in Makefile \
		$(srcdir)/packaging/contact $(srcdir)/debian/changelog
	$(AM_V_GEN)$(SED) -e 's|@VERSION[@]|$(VERSION)|' \
	    -e "s|@CONTACT[@]|$(contact)|" \
	    -e "s|@DATE[@]|$$(LC_ALL=C date -u -d "$(release_date)" \
		'+%a %b %d %Y')|" \
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
	SOURCE_DATE_EPOCH=$(release_epoch) $(srcdir)/packaging/sbom \
	    $(PACKAGE) $(VERSION) outbox-master outboxctl > $(sbom).tmp
	mv $(sbom).tmp $(sbom)
	@echo $(sbom)

# What is published; packaging/release.  RELEASE_KEY names a secret key of gpg;
# "none" makes all but the signatures, to compare with what others published.
# RELEASE="deb rpm image" adds the image, which takes root.

RELEASE_KEY =
RELEASE = deb rpm
.PHONY: release
release:
	@SOURCE_DATE_EPOCH=$(release_epoch) MAKE='$(MAKE)' \
	    $(srcdir)/packaging/release $(PACKAGE) $(VERSION) \
	    '$(RELEASE_KEY)' $(RELEASE)
