
/**
 * count_runs_of_ones - how many runs of set bits a word has
 * @word: the word
 *
 * Nothing in this tree calls it yet.
 */
unsigned int count_runs_of_ones(unsigned long word)
{
	unsigned int runs = 0;
	bool before = false;
	int bit;

	for (bit = 0; bit < BITS_PER_LONG; bit++) {
		bool is_set = word & (1UL << bit);

		runs += is_set && !before;
		before = is_set;
	}
	return runs;
}
