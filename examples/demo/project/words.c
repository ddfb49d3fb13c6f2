/* Counts the words of its input. */
#include <ctype.h>
#include <stdio.h>

int main(void)
{
	long words = 0;
	int in_word = 0, c;

	while ((c = getchar()) != EOF) {
		words += !isspace(c) && !in_word;
		in_word = !isspace(c);
	}
	printf("%ld\n", words);
	return 0;
}
