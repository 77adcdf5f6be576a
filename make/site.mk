# The documentation as a site. Included by Makefile.

# In an environment of its own: nothing of it belongs to an installation.
$(BUILD)/site_tools/.installed: packaging/site/requirements.lock
	$$(make/python) -m venv --clear $(@D)
	$(@D)/bin/python -I -m pip --disable-pip-version-check --quiet install --require-hashes --requirement $<
	touch $@

.PHONY: site
site: $(BUILD)/site_tools/.installed  ## make the documentation as a site that needs no network: build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BUILD)/site_tools/bin/mkdocs build --strict --quiet --config-file packaging/site/mkdocs.yml
	@echo "site: $(BUILD)/site/index.html"
