/*
 * Operator commands on cpupools: xl's cpupool-* (core-scheduling section 7.1).
 *
 * A pool's name is only checked here where no command makes pools; else it is looked up when the
 * command is done.
 */
#include <assert.h>
#include <string.h>

#include "scenario/command.h"
#include "scenario/cpulist.h"
#include "scenario/file.h"
#include "scenario/pool_config.h"
#include "scenario/pools.h"

static const char *const verbs[] = {
	"cpupool-create",     "cpupool-destroy", "cpupool-rename",     "cpupool-cpu-add",
	"cpupool-cpu-remove", "cpupool-migrate", "cpupool-numa-split",
};

const char *const *sc_pool_commands(unsigned int *n)
{
	*n = sizeof(verbs) / sizeof(verbs[0]);
	return verbs;
}

bool sc_command_pool(struct sc_command *c, unsigned int i, const char **pool)
{
	const struct scenario *s = c->s;
	const char *word = c->word[i];

	assert(s->n_pools > 0);
	*pool = word;
	if (c->console || s->pools_change)
		return true;
	for (unsigned int k = 0; k < s->n_pools; k++) {
		if (strcmp(s->pool[k].name, word) == 0 || strcmp(SC_TEXT(c, "%u", k), word) == 0)
			return true;
	}
	return sc_wrong_at(c, i,
			   SC_TEXT(c, "no pool is named '%s', expected %s", word,
				   sc_pool_names(c->p->arena, s)));
}

static bool read_list(struct sc_command *c, unsigned int i, const char *list, struct sc_op *op)
{
	char error[SC_CPULIST_ERROR];
	size_t at;

	if (sc_cpulist_parse(list, &c->s->topo, &op->cpus, error, &at) < 0)
		return sc_wrong_at(c, i, error);
	return true;
}

/* --- cpupool-create ------------------------------------------------------------------------- */

enum key { NAME, SCHED, GRAN, CPUS, NODES, NR_KEYS };

static const char *const keys[NR_KEYS] = {"name", "sched", "gran", "cpus", "nodes"};

/* A setting, and where it stands: in a word of the command, or in the file. */
struct given {
	const char *value; /* NULL: not given */
	unsigned int word; /* 0: in the file */
	struct sc_mark mark;
};

static bool wrong_in(struct sc_command *c, const struct given *g, const char *what)
{
	if (g->word)
		return sc_wrong_at(c, g->word, what);
	sc_error(c->p, &g->mark, "%s", what);
	return false;
}

/* The place of an offset in the text of a file. */
static struct sc_mark mark_in(const char *path, const char *text, size_t at)
{
	struct sc_mark mark = {.file = path, .line = 1, .column = 1};

	for (size_t i = 0; i < at; i++) {
		mark.column = text[i] == '\n' ? 1 : mark.column + 1;
		mark.line += text[i] == '\n';
	}
	return mark;
}

/* Settings of a text: of a word (path NULL) or a file. What is given twice is an error. */
static bool take_settings(struct sc_command *c, const char *text, unsigned int word,
			  const char *path, struct given given[NR_KEYS])
{
	struct given here = {.word = word};
	struct sc_setting *list;
	const char *expected;
	unsigned int k;
	size_t at;

	if (!sc_config_parse(c->p->arena, text, !path, &list, &expected, &at)) {
		here.mark = mark_in(path, text, at);
		return wrong_in(c, &here, SC_TEXT(c, "expected %s", expected));
	}
	for (const struct sc_setting *s = list; s; s = s->next) {
		here.value = s->value;
		here.mark = mark_in(path, text, s->key_at);
		for (k = 0; k < NR_KEYS && strcmp(keys[k], s->key) != 0; k++)
			;
		if (k == NR_KEYS)
			return wrong_in(c, &here,
					SC_TEXT(c,
						"unknown key '%s', expected name, sched, gran, "
						"cpus or nodes",
						s->key));
		if (given[k].value)
			return wrong_in(c, &here, SC_TEXT(c, "key '%s' is repeated", s->key));
		here.mark = mark_in(path, text, s->at);
		given[k] = here;
	}
	return true;
}

/* A list or a quotation that goes on in the next word. */
static bool is_open(const char *text)
{
	char quote = 0;
	int depth = 0;

	for (; *text; text++) {
		if (quote)
			quote = *text == quote ? 0 : quote;
		else if (*text == '"' || *text == '\'')
			quote = *text;
		else
			depth += (*text == '[') - (*text == ']');
	}
	return quote || depth > 0;
}

/*
 * What a shell would leave of a word: where xl sees name="x" its user typed name=\"x\" or
 * 'name="x"', and pastes that here.
 */
static const char *without_shell_quotes(struct sc_command *c, const char *word)
{
	size_t len = strlen(word), n = 0;
	char *text;

	assert(len > 0);
	if (len >= 2 && (*word == '"' || *word == '\'') && word[len - 1] == *word) {
		word++;
		len -= 2;
	}
	text = sc_strndup(c->p->arena, word, len);
	for (size_t i = 0; i < len; i++) {
		if (word[i] != '\\' || (word[i + 1] != '"' && word[i + 1] != '\''))
			text[n++] = word[i];
	}
	text[n] = '\0';
	return text;
}

/* What the command's words say; *file: the pool file. */
static bool read_words(struct sc_command *c, struct sc_op *op, struct given given[NR_KEYS],
		       const char **file, unsigned int *at_file)
{
	for (unsigned int i = 1; i < c->n; i++) {
		const char *w = c->word[i];
		unsigned int first = i;
		bool option = strcmp(w, "-f") == 0 || strcmp(w, "--defconfig") == 0;

		if (strcmp(w, "-n") == 0 || strcmp(w, "--dryrun") == 0) {
			op->dry_run = true;
			continue;
		}
		if (option && i + 1 == c->n)
			return sc_wrong_at(c, i, SC_TEXT(c, "option '%s' has no value", w));
		if (*w == '-' && !option)
			return sc_wrong_at(c, i, SC_TEXT(c, "unknown option '%s'", w));
		if (option || !strchr(w, '=')) {
			i += option;
			if (*file)
				return sc_wrong_at(
					c, i,
					SC_TEXT(c, "one pool file at a time, '%s' is the second",
						c->word[i]));
			*file = c->word[i];
			*at_file = i;
			continue;
		}
		while (is_open(w) && i + 1 < c->n)
			w = SC_TEXT(c, "%s %s", w, c->word[++i]);
		if (!take_settings(c, without_shell_quotes(c, w), first, NULL, given))
			return false;
	}
	return true;
}

static bool read_file(struct sc_command *c, const char *name, unsigned int word,
		      struct given given[NR_KEYS])
{
	const char *path = sc_file_path(c->p->arena, c->dir, name);
	struct given own[NR_KEYS] = {{0}};
	size_t len = 0;
	int error = 0;
	char *text = sc_file_text(c->p->arena, path, &len, &error);

	if (!text)
		return sc_wrong_at(
			c, word,
			SC_TEXT(c, "cannot read the pool file '%s': %s", path, strerror(-error)));
	if (strlen(text) != len)
		return sc_wrong_at(c, word,
				   SC_TEXT(c, "the pool file '%s' has a NUL character", path));
	if (!take_settings(c, text, 0, path, own))
		return false;
	for (unsigned int k = 0; k < NR_KEYS; k++) {
		if (!given[k].value)
			given[k] = own[k];
	}
	return true;
}

static bool read_name(struct sc_command *c, const struct given *g, const char *file,
		      unsigned int at_file, struct sc_op *op)
{
	const char *slash = file ? strrchr(file, '/') : NULL;

	op->pool = g->value ? g->value : slash ? slash + 1 : file;
	if (!op->pool)
		return sc_wrong_at(c, 0,
				   "no name, expected 'cpupool-create [-n] [FILE] [name=NAME] "
				   "[sched=SCHED] [gran=GRAN] [cpus=LIST] [nodes=LIST]'");
	if (sc_pool_is_name(op->pool))
		return true;
	if (!g->value)
		return sc_wrong_at(c, at_file,
				   SC_TEXT(c,
					   "the file's name '%s' is no name of a pool, give one: "
					   "name=NAME",
					   op->pool));
	return wrong_in(c, g, "a pool's name is a letter, then letters, digits, '_', '-', '.'");
}

/* As with xl, nodes beat cpus. */
static bool read_pcpus(struct sc_command *c, const struct given given[NR_KEYS], struct sc_op *op)
{
	const struct given *g = &given[given[NODES].value ? NODES : CPUS];
	char error[SC_CPULIST_ERROR];
	size_t at;

	if (!g->value)
		return true;
	op->of_nodes = g == &given[NODES];
	return (op->of_nodes ? sc_nodelist_parse : sc_cpulist_parse)(g->value, &c->s->topo,
								     &op->cpus, error, &at) == 0 ||
	       wrong_in(c, g, error);
}

/* cpupool-create [-n] [[-f] FILE] [name=NAME] [sched=S] [gran=G] [cpus=LIST] [nodes=LIST] */
static bool cmd_create(struct sc_command *c, struct sc_op *op)
{
	struct given given[NR_KEYS] = {{0}};
	const struct given *g;
	const char *file = NULL;
	unsigned int at_file = 0;

	op->kind = SC_OP_POOL_CREATE;
	if (!sc_split_options(c, "n") || !read_words(c, op, given, &file, &at_file) ||
	    (file && !read_file(c, file, at_file, given)) ||
	    !read_name(c, &given[NAME], file, at_file, op))
		return false;
	if (op->dry_run && !c->console)
		return sc_wrong_at(c, 0, "-n only shows what would be done, in the console");
	g = &given[SCHED];
	op->set_sched = g->value && sc_sched_find(g->value, &op->sched);
	if (g->value && !op->set_sched)
		return wrong_in(c, g,
				SC_TEXT(c, "unknown scheduler '%s', expected %s", g->value,
					sc_sched_names(c->p->arena)));
	g = &given[GRAN];
	op->set_gran = g->value && sc_gran_find(g->value, &op->gran);
	if (g->value && !op->set_gran)
		return wrong_in(c, g,
				SC_TEXT(c, "found '%s', expected cpu, core or socket", g->value));
	return read_pcpus(c, given, op);
}

/* --- The others ------------------------------------------------------------------------------- */

static bool cmd_pool(struct sc_command *c, struct sc_op *op)
{
	static const struct {
		const char *name, *usage;
		enum sc_op_kind kind;
		unsigned int words;
	} forms[] = {
		{"cpupool-destroy", "cpupool-destroy POOL", SC_OP_POOL_DESTROY, 2},
		{"cpupool-rename", "cpupool-rename POOL NAME", SC_OP_POOL_RENAME, 3},
		{"cpupool-cpu-add", "cpupool-cpu-add POOL LIST", SC_OP_POOL_CPU_ADD, 3},
		{"cpupool-cpu-remove", "cpupool-cpu-remove POOL LIST", SC_OP_POOL_CPU_REMOVE, 3},
	};
	unsigned int i = 0;

	while (strcmp(forms[i].name, c->word[0]) != 0)
		i++;
	assert(i < sizeof(forms) / sizeof(forms[0]));
	op->kind = forms[i].kind;
	if (!sc_need_words(c, forms[i].words, forms[i].words, forms[i].usage) ||
	    !sc_command_pool(c, 1, &op->pool))
		return false;
	if (op->kind == SC_OP_POOL_DESTROY)
		return true;
	if (op->kind != SC_OP_POOL_RENAME)
		return read_list(c, 2, c->word[2], op);
	op->name = c->word[2];
	return sc_pool_is_name(op->name) ||
	       sc_wrong_at(c, 2, "a pool's name is a letter, then letters, digits, '_', '-', '.'");
}

/* cpupool-migrate DOM POOL */
static bool cmd_migrate(struct sc_command *c, struct sc_op *op)
{
	op->kind = SC_OP_POOL_MIGRATE;
	if (!sc_need_words(c, 3, 3, "cpupool-migrate DOM POOL") || !sc_command_vm(c, 1, op))
		return false;
	if (c->s->vm[op->vm].dom0)
		return sc_wrong_at(c, 1, "domain 0 cannot be moved");
	return sc_command_pool(c, 2, &op->pool);
}

bool sc_pool_command(struct sc_command *c, struct sc_op *op, bool *known)
{
	const char *w = c->word[0];

	*known = true;
	if (strcmp(w, "cpupool-create") == 0)
		return cmd_create(c, op);
	if (strcmp(w, "cpupool-migrate") == 0)
		return cmd_migrate(c, op);
	if (strcmp(w, "cpupool-numa-split") == 0) {
		op->kind = SC_OP_POOL_SPLIT;
		return sc_need_words(c, 1, 1, "cpupool-numa-split");
	}
	for (unsigned int i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(w, verbs[i]) == 0)
			return cmd_pool(c, op);
	}
	*known = false;
	return false;
}
