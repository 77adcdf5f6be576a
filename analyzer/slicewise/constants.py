"""Constants that decide an answer in more than one place, each with its unit and what it was chosen from."""

# Bytes: what the loaders and the libc of a few processes read for themselves (measured: 0.2 MiB of headers and locale
# for a shell with some commands). Less than this is no I/O to speak of.
LITTLE_BYTES = 1 << 20
# Bytes: what nobody profiled is named from here on, and is taken for a job by its volume. Daemons, shells and journals
# move less.
WORTH_NAMING_BYTES = 16 << 20
# Bytes: a block of an inode or of a directory, which a local file system moves for a metadata call.
BLOCK_A_CALL = 4 << 10

# What stands in front of the hash of the inputs behind a command line.
INPUTS = " #inputs="

# Times.
SECOND_NS = 10**9
DAY_NS = 86_400 * SECOND_NS
# A server's counts are known to lie in a job's time but for so much: the usual time between two of its samples.
SAMPLE_NS = 5 * SECOND_NS

# When something was full, and what it can do at most.
# Of a slice's time in calls, of a job's processes at work, of a capacity, of a node's limit: from this share on it is
# full. A job's slices below it are its tail, when its processes end one by one.
FILLED = 0.9
# Of the rate that a job reaches alone: from this share on nobody slowed it down.
NOT_SLOWED = 0.95
# Percent of a storage's slices that lie below what it does at most: the highest rates of few slices are luck.
PERCENTILE = 95

# How many it takes.
# Slices of a kind that show what a storage does: a percentile, how kinds of call meet, what company costs, what a job
# took in slices that it had to itself.
FEWEST_SLICES = 4
# Numbers whose mean has a spread.
FEWEST_FOR_A_MEAN = 2
# Repeats of a run of which one can be said to stand out: of three none lies 1.5 standard deviations off their mean.
FEWEST_REPEATS = 4

# What counts as equal, and as nothing.
# Of a whole (a job's time in calls, its runtime, the storage's time that all took): less need not be priced or told.
TRIVIAL = 0.02
# Of the runtime: to ask for a turn and to get it at once takes less.
WORTH_A_WAIT = 0.002
# Of the runtime: runs differ by so much by chance.
LITTLE_OF_RUNTIME = 0.05
# Of a job's bytes, or of its seconds in calls: less is no part of what the job does.
LEAST_OF_JOB = 0.05
# Of a whole (bytes, calls, seconds, ranks): more of it than all else together, which then decides.
MAINLY = 0.5
# Of a whole (bytes, calls, seconds): the rest decides nothing.
NEARLY_ALL = 0.9
# Of the larger of two volumes: they differ by no more. Logs, headers and what is read twice differ from run to run.
EQUAL_VOLUMES = 0.05
# Of the mean of a job's rate, each byte or second counting once: a slice with less is in no phase. A log is a trickle.
LEAST_OF_RATE = 0.05
# Relative: a rate or a cost that was measured once is not known better, nor are times counted and placed in slices.
LEAST_ERROR = 0.01
# Relative: what a run's slices make of its sum is not known worse than this, however bursty they are.
MOST_ERROR_OF_A_RUN = 0.10
# Calls whose mean sizes differ by more than this factor do not cost the same a byte.
LIKE_SIZES = 1.5
# Of a job's bytes: a direction with less is not what the job is about.
LEAST_DIRECTION = 0.01
# Of a job's bytes: with so many in one direction it is a job of that direction alone.
ONE_DIRECTION = 0.95
# Of what a job moved: less of it on a server's target is no use of that target, and less by others there no company.
LITTLE_USE = 0.02
# Of all that servers counted while a job ran: others' traffic of this part, and the job was not alone.
LEAST_STRANGER = 0.1
# Of the slices between its first and its last one: a job that moved bytes in fewer pauses, and models of sharing, which
# let jobs wait all the time, do not describe it.
MOSTLY_ACTIVE = 0.8
# Relative: models whose errors differ by less are as good as each other.
NEGLIGIBLE_ERROR = 0.01
# Of the error: what is more complicated (capacity that changes with clients, a fitted model) has to predict so much
# better than what is simpler.
WORTH_MORE = 0.2
# Relative: an analysis whose own check is off by more on average says that first, and no more.
TOO_FAR_OFF = 0.3
# Seconds: less is no time, by the rounding of sums of ns.
NO_SECONDS = 1e-9

# What a storage gives at most (`analysis/capacity`).
# Exponents of a capacity region: 1 is one device that takes turns. From 32 on kinds do not meet: two of them each have
# 98 % of what they have alone, which no slices tell from all of it.
TAKES_TURNS = 1.0
APART = 32.0
# Below the first a reader may say that kinds take turns, from the second on that they hardly meet: two that meet at 8
# each have 92 %.
NEARLY_TURNS, HARDLY_MEET = 1.5, 8.0
# A direction that is hardly used says nothing of what the storage can do: assumed to be no slower than the other one by
# more than this factor.
MOST_SLOWER_DIRECTION = 4.0
# Of what a kind of call takes at most: a slice in which the others take less is of that kind alone.
ONE_KIND = 0.05
# Of what a storage does at most of a kind: from here on it is much. Half, so that no two kinds of which a storage takes
# turns are both much.
MUCH_OF_CAPACITY = 0.5
# Of a slice: whoever took less of a storage's time was not active there, as a log that trickles is not.
ACTIVE_SHARE = 0.005
# Of a slice: who is in calls for so long waits for the storage then, though it may be served in the next one.
WAITING_SHARE = 0.05
# Writes that memory took ahead of the storage, of a job's time alone: clients hold back up to a tenth.
MUCH_BUFFERED = 0.25
# Of a job's time in calls: with less metadata, how fast it opened a few files does not show how many could be opened.
MUCH_METADATA = 0.1
# A slice counts if as much of it lies within a job's I/O as of the slice with most, times this: a part is an estimate.
LARGE_PART = 0.5
# Of a slice: with less in calls it is a pause.
PAUSED = 0.1
# Of the highest combined rate: a standalone run below it is held back by the job, not by the storage.
SATURATING_RUNS = 0.5
# Of its mean: a capacity that varies by no more to either side is called constant.
CONSTANT = 0.05
