/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of synthetic videos and the sums of their bytes: {"SETTINGS", "SUM"}, */
/* clang-format off */
{"frames=40", "8163db0af343addc"},
{"seed=2,frames=40,scale=25,light=50,pan=64,noise=20,bar=30", "4d81d9407ca30a00"},
{"seed=3,frames=20,size=641x479,targets=64,box=30x22,scale=20,pan=5,noise=3,speed=700", "e0585a47275beb56"},
