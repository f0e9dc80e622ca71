/*
 * Recordings: what is read, what is refused as damaged, and where the first difference is found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "conform/compare.h"
#include "temporary.h"

#define META                                                                                  \
	"{\"t\":0,\"ev\":\"meta\",\"sched\":\"credit2\",\"xen\":\"c447b7308b\",\"format\":1," \
	"\"cpus\":2,\"sockets\":1,\"cores\":2,\"threads\":1,\"nodes\":1}\n"

static const char recording[] = META
	"{\"t\":0,\"ev\":\"runqueue\",\"id\":0,\"cpus\":\"0-1\"}\n"
	"{\"t\":0,\"ev\":\"insert\",\"unit\":\"d1v0\",\"cpu\":0}\n"
	"{\"t\":1000,\"ev\":\"wake\",\"unit\":\"d1v0\"}\n"
	"{\"t\":1000,\"ev\":\"tickle\",\"cpu\":0}\n"
	"{\"t\":1000,\"ev\":\"switch\",\"cpu\":0,\"prev\":\"idle\",\"unit\":\"d1v0\",\"slice\":5,"
	"\"credit\":10}\n"
	"{\"t\":9000,\"ev\":\"total\",\"unit\":\"d1v0\",\"run\":8000,\"switches\":1,\"cpu\":0,"
	"\"credit\":3,\"load\":7}\n"
	"{\"t\":9000,\"ev\":\"idletotal\",\"cpu\":0,\"run\":1000}\n"
	"{\"t\":9000,\"ev\":\"idletotal\",\"cpu\":1,\"run\":9000}\n"
	"{\"t\":9000,\"ev\":\"rqload\",\"id\":0,\"avgload\":1,\"b_avgload\":2,\"max_weight\":3}\n";

static char path[PATH_MAX];

static int make_file(void **state)
{
	(void)state;
	return temporary_make(path, "") ? 0 : -1;
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static void write_file(const void *data, size_t len)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static int read_text(const char *text, size_t len, struct record *r, struct script_error *err)
{
	write_file(text, len);
	return recording_read(path, r, err);
}

/* The recording as gzip; the caller frees it. */
static unsigned char *compressed(size_t *len)
{
	unsigned char *data;
	gzFile gz = gzopen(path, "w9");
	FILE *file;

	assert_non_null(gz);
	assert_int_equal(gzwrite(gz, recording, sizeof(recording) - 1), sizeof(recording) - 1);
	assert_int_equal(gzclose(gz), Z_OK);
	file = fopen(path, "r");
	data = malloc(sizeof(recording));
	assert_true(file && data);
	*len = fread(data, 1, sizeof(recording), file);
	assert_true(*len > 20 && *len < sizeof(recording));
	fclose(file);
	return data;
}

static void plain_and_gzip_recordings_are_read(void **state)
{
	struct record plain, gz;
	struct script_error err;
	size_t len;
	unsigned char *data = compressed(&len);

	(void)state;
	assert_int_equal(recording_read(path, &gz, &err), 0);
	assert_int_equal(read_text(recording, sizeof(recording) - 1, &plain, &err), 0);
	assert_int_equal(plain.nr, 10);
	assert_int_equal(gz.nr, 10);
	assert_true(compare_records(&plain, &gz) == SIZE_MAX);
	record_free(&plain);
	record_free(&gz);
	free(data);
}

static void a_changed_digit_is_a_difference_at_its_line(void **state)
{
	struct record a, b;
	struct script_error err;
	char text[sizeof(recording)];
	size_t line = 0, digits = 0;

	(void)state;
	assert_int_equal(read_text(recording, sizeof(recording) - 1, &a, &err), 0);
	for (size_t i = 0; i < sizeof(recording) - 1; i++) {
		memcpy(text, recording, sizeof(recording));
		if (text[i] == '\n')
			line++;
		/* The meta line says how many lines there must be. */
		if (line == 0 || text[i] < '0' || text[i] > '9')
			continue;
		text[i] = text[i] == '9' ? '0' : (char)(text[i] + 1);
		assert_int_equal(read_text(text, sizeof(recording) - 1, &b, &err), 0);
		assert_int_equal(compare_records(&a, &b), line);
		assert_int_equal(compare_records(&b, &a), line);
		record_free(&b);
		digits++;
	}
	assert_true(digits > 60);
	record_free(&a);
}

static void a_missing_or_added_line_is_a_difference(void **state)
{
	struct record a, b = {0};
	struct script_error err;
	size_t len;

	(void)state;
	assert_int_equal(read_text(recording, sizeof(recording) - 1, &a, &err), 0);
	for (size_t i = 0; i + 1 < a.nr; i++) {
		const char *line = record_get(&a, i, &len);

		record_line(&b, line, len);
	}
	assert_int_equal(compare_records(&a, &b), 9);
	assert_int_equal(compare_records(&b, &a), 9);
	record_free(&a);
	record_free(&b);
}

static void gzip_that_is_cut_anywhere_is_refused(void **state)
{
	struct record r;
	struct script_error err;
	size_t len;
	unsigned char *data = compressed(&len);

	(void)state;
	for (size_t cut = 0; cut < len; cut++) {
		write_file(data, cut);
		assert_int_equal(recording_read(path, &r, &err), -HV_EINVAL);
		assert_true(err.text[0]);
		record_free(&r);
	}
	write_file(data, len - 1);
	assert_int_equal(recording_read(path, &r, &err), -HV_EINVAL);
	assert_non_null(strstr(err.text, "truncated"));
	record_free(&r);
	free(data);
}

static void damaged_gzip_is_refused(void **state)
{
	struct record r;
	struct script_error err;
	size_t len;
	unsigned char *data = compressed(&len);

	(void)state;
	/* The checksum at the end. */
	data[len - 8] ^= 1;
	write_file(data, len);
	assert_int_equal(recording_read(path, &r, &err), -HV_EINVAL);
	assert_non_null(strstr(err.text, "damaged"));
	record_free(&r);
	free(data);
}

static void text_that_is_cut_anywhere_is_refused(void **state)
{
	struct record r;
	struct script_error err;

	(void)state;
	for (size_t cut = 0; cut < sizeof(recording) - 1; cut++) {
		assert_int_equal(read_text(recording, cut, &r, &err), -HV_EINVAL);
		if (cut > sizeof(META))
			assert_non_null(strstr(err.text, "truncated"));
		record_free(&r);
	}
}

static void other_files_are_refused(void **state)
{
	struct record r;
	struct script_error err;
	const char *wrong = "{\"t\":0,\"ev\":\"meta\",\"format\":3,\"cpus\":1}\n";

	(void)state;
	assert_int_equal(read_text(wrong, strlen(wrong), &r, &err), -HV_EINVAL);
	assert_non_null(strstr(err.text, "\"format\":1 or 2"));
	assert_int_equal(err.line, 1);
	record_free(&r);
	assert_int_equal(read_text("hello\n", 6, &r, &err), -HV_EINVAL);
	assert_non_null(strstr(err.text, "not a recording"));
	record_free(&r);
	assert_true(recording_read("/nonexistent.jsonl.gz", &r, &err) < 0);
	record_free(&r);
	assert_true(recording_read("/", &r, &err) < 0);
	record_free(&r);
}

/* Lines of the printed difference. */
static void ten_lines_around_the_difference_are_printed(void **state)
{
	struct record a = {0}, b = {0};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	for (int i = 1; i <= 50; i++) {
		char line[16];

		snprintf(line, sizeof(line), "a%d", i);
		record_line(&a, line, strlen(line));
		line[0] = i < 30 ? 'a' : 'b';
		if (i <= 35)
			record_line(&b, line, strlen(line));
	}
	assert_int_equal(compare_records(&a, &b), 29);
	compare_print(out, &a, &b, 29);
	fclose(out);
	assert_non_null(strstr(text, "  both:\n      20  a20\n"));
	assert_non_null(strstr(text, "      29  a29\n  recorded:\n>     30  a30\n"));
	assert_non_null(strstr(text, "      40  a40\n  ours:\n>     30  b30\n"));
	assert_null(strstr(text, "a19"));
	assert_null(strstr(text, "a41"));
	assert_non_null(strstr(text, "      35  b35\n"));
	free(text);
	record_free(&a);
	record_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_and_gzip_recordings_are_read),
		cmocka_unit_test(a_changed_digit_is_a_difference_at_its_line),
		cmocka_unit_test(a_missing_or_added_line_is_a_difference),
		cmocka_unit_test(gzip_that_is_cut_anywhere_is_refused),
		cmocka_unit_test(damaged_gzip_is_refused),
		cmocka_unit_test(text_that_is_cut_anywhere_is_refused),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(ten_lines_around_the_difference_are_printed),
	};

	return cmocka_run_group_tests_name("conform_compare", tests, make_file, remove_file);
}
