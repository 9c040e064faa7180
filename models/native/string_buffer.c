/* expect: violated kind=assertion preemptions=1
 * Appending one string buffer to another, after Java's StringBuffer: the length is asked for under
 * the lock of the source, the characters are fetched under it again, and between the two the source
 * was shortened. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
	pthread_mutex_t lock;
	size_t length;
	char *text;
};

static struct buffer *make(const char *text)
{
	struct buffer *made = malloc(sizeof *made);
	pthread_mutex_init(&made->lock, NULL);
	made->length = strlen(text);
	made->text = malloc(16);
	strcpy(made->text, text);
	return made;
}

static size_t length_of(struct buffer *buffer)
{
	pthread_mutex_lock(&buffer->lock);
	size_t length = buffer->length;
	pthread_mutex_unlock(&buffer->lock);
	return length;
}

static void fetch(struct buffer *buffer, size_t length, char *to)
{
	pthread_mutex_lock(&buffer->lock);
	assert(length <= buffer->length);
	memcpy(to, buffer->text, length);
	pthread_mutex_unlock(&buffer->lock);
}

static struct buffer *source, *target;

static void *append(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&target->lock);
	size_t length = length_of(source);
	fetch(source, length, target->text + target->length);
	target->length += length;
	pthread_mutex_unlock(&target->lock);
	return NULL;
}

static void *erase(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&source->lock);
	source->length = 0;
	pthread_mutex_unlock(&source->lock);
	return NULL;
}

int main(void)
{
	pthread_t first, second;
	source = make("abc");
	target = make("xyz");
	pthread_create(&first, NULL, append, NULL);
	pthread_create(&second, NULL, erase, NULL);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	free(source->text);
	free(source);
	free(target->text);
	free(target);
	return 0;
}
