/* A program that does nothing: the least that starting one can cost. */
int main(void)
{
	return 0;
}
