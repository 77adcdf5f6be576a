# What pages are looked at with. Included by Makefile.

# Of one version and with a known sum; tests say so where it cannot be had.
AXE = axe-core-4.10.3.tgz
AXE_SHA256 = 0f2b4d7dcdf7d1219df8d1959ad68e565f51d14c3f0d88bb71cd59abeb956292

.PHONY: axe
axe: $(BUILD)/axe/axe.min.js  ## fetch axe-core, by which tests look at the accessibility of pages (needs npm)
$(BUILD)/axe/axe.min.js:
	@mkdir -p $(@D)
	cd $(@D) && npm pack --silent $(subst core-,core@,$(basename $(AXE))) > /dev/null
	echo "$(AXE_SHA256)  $(@D)/$(AXE)" | sha256sum --check --quiet
	tar xzf $(@D)/$(AXE) -C $(@D) --strip-components=1 package/axe.min.js
	touch $@

.PHONY: gallery
gallery: all  ## make the pictures of docs/gallery anew, of profiles that the tests have recorded (needs Chromium)
	PYTHONPATH=tests:demo $(VENV)/bin/python -m gallery docs/gallery
