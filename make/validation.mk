# Campaigns of competing jobs on real file servers, and what the analyses say of them. Included by Makefile.

CAMPAIGNS ?= $(BUILD)/campaigns

.PHONY: campaigns
campaigns: all  ## record the campaigns anew: five hours, as root, on a quiet machine; those that are done are kept
	make/setup test
	mkdir -p $(CAMPAIGNS)
	PYTHONPATH=tests $(VENV)/bin/python -m testbed.recordings --run $(BUILD) $(CAMPAIGNS)

.PHONY: measured
measured: all  ## compute tests/golden/measured anew from the packed recordings, as whoever changes an analysis must
	make/setup test
	PYTHONPATH=tests $(VENV)/bin/python -m testbed.measured
