/* SPDX-License-Identifier: Apache-2.0 */
/* command_words.h - a command line as words, without a shell. */
#ifndef QUIRE_CHAT_COMMAND_WORDS_H
#define QUIRE_CHAT_COMMAND_WORDS_H

/* Splits a command at blanks. 'text' is one word as it is, "text" too but that \" and \\ stand for
 * the characters; elsewhere a backslash makes the next character one of the word. Nothing is
 * expanded. Returns the words, ended by NULL, in one block that free() releases; NULL, and *problem
 * set to a static text: there is no word, a quote is not closed, or out of memory. */
char **command_words(const char *command, const char **problem);

/* Whether the program of this name can be run: 0, or an errno. Without a slash it is searched in
 * PATH. */
int command_check(const char *program);

#endif
