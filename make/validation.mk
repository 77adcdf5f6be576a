# Campaigns of competing jobs on real file servers, and the page that says how well they are predicted. Included by Makefile.

CAMPAIGNS ?= $(BUILD)/campaigns

.PHONY: campaigns
campaigns: all  ## run the campaigns of docs/validation.md: five hours, as root, on a quiet machine; those that are done are kept
	make/setup test
	mkdir -p $(CAMPAIGNS)
	PYTHONPATH=tests $(VENV)/bin/python -m testbed.validation --run $(BUILD) $(CAMPAIGNS)

.PHONY: validation
validation: campaigns  ## run the campaigns and write docs/validation.md from them
	PYTHONPATH=tests $(VENV)/bin/python -m testbed.validation $(CAMPAIGNS) docs/validation.md

.PHONY: validation-page
validation-page: all  ## write docs/validation.md anew from the packed campaigns, as whoever changes an analysis must
	make/setup test
	PYTHONPATH=tests $(VENV)/bin/python -m testbed.validation tests/golden/campaigns docs/validation.md

.PHONY: usual-page
usual-page: all  ## show the section "As users meet it" of docs/validation.md, from the packed campaigns
	make/setup test
	PYTHONPATH=tests $(VENV)/bin/python -m testbed.usual_page tests/golden/campaigns

.PHONY: foretold-page
foretold-page: all  ## write docs/foretold.md anew from the packed campaigns, as whoever changes how runs are foretold must
	make/setup test
	PYTHONPATH=tests $(VENV)/bin/python -m testbed.foretell_page tests/golden/campaigns docs/foretold.md

.PHONY: policies-page
policies-page: all  ## write docs/policies-measured.md anew from the recorded figures, as whoever changes the simulation must
	make/setup test
	PYTHONPATH=tests $(VENV)/bin/python -m testbed.policy_page tests/golden/campaigns docs

.PHONY: causes-page
causes-page: all  ## write docs/causes-measured.md anew from the packed recordings, as whoever changes the evidence for causes must
	make/setup test
	PYTHONPATH=tests $(VENV)/bin/python -m testbed.plants_page tests/golden/planted.tar.xz docs/causes-measured.md
