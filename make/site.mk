# The documentation as a site. Included by Makefile.

# In an environment of its own: nothing of it belongs to an installation.
$(BUILD)/site_tools/.installed: packaging/site/requirements.lock
	$$(make/python) -m venv --clear $(@D)
	$(@D)/bin/python -I -m pip --disable-pip-version-check --quiet install --no-compile --require-hashes --requirement $<
	touch $@

# One version, with a known sum. Without it diagrams are text.
MERMAID = mermaid-11.4.1.tgz
MERMAID_SHA256 = ec7b61b391aaa24bf666fd20e48d0a626eeb4a95b95bc6b3016a122d7f0bc2af

.PHONY: mermaid
mermaid: $(BUILD)/mermaid/mermaid.min.js
$(BUILD)/mermaid/mermaid.min.js:
	@mkdir -p $(@D)
	cd $(@D) && npm pack --silent $(subst mermaid-,mermaid@,$(basename $(MERMAID))) > /dev/null
	echo "$(MERMAID_SHA256)  $(@D)/$(MERMAID)" | sha256sum --check --quiet
	tar xzf $(@D)/$(MERMAID) -C $(@D) --strip-components=2 package/dist/mermaid.min.js
	rm $(@D)/$(MERMAID)
	touch $@

# With --quiet, --strict would count no warning.
.PHONY: site
site: $(BUILD)/site_tools/.installed  ## make the documentation as a site that needs no network: build/site/index.html
	@$(MAKE) --no-print-directory --silent mermaid || true
	NO_MKDOCS_2_WARNING=1 $(BUILD)/site_tools/bin/mkdocs build --strict --config-file packaging/site/mkdocs.yml > $(BUILD)/site.log 2>&1 \
	  || { grep -vE '^(INFO|  -)' $(BUILD)/site.log >&2; exit 1; }
	@echo "site: $(BUILD)/site/index.html"
