/* SPDX-License-Identifier: Apache-2.0 */
/* How often the modes are launched, and for how long: see campaign.h. */
#include "measure/campaign.h"
#include "prem/base/numbers.h"

enum { MAX_RESIDENT_LAUNCHES = 10 };

/** Hyperperiods of each mode, those that do not count among them. */
static int64_t room_in_duration(const prem_campaign *campaign) {
  const prem_compare_options *options = campaign->options;
  double fitting =
      options->sampling.duration_s * 1e9 / (double)campaign->pace_ns / options->mode_count;
  return fitting < (double)PREM_MAX_NS ? (int64_t)fitting : PREM_MAX_NS;
}

/** A launch cannot be cut short by a duration without losing its verdict: as much is asked for as
 *  fits, and discarding takes no more than half of it. */
static void fit_into_duration(prem_campaign *campaign) {
  const int64_t room = room_in_duration(campaign);
  if (campaign->sampling.discard > 0 && campaign->rounds > room / 2 / campaign->sampling.discard)
    campaign->rounds = prem_max_i64(room / 2 / campaign->sampling.discard, 1);
  campaign->sampling.discard = prem_min_i64(campaign->sampling.discard, room / 2);
  int64_t counted = prem_max_i64(room - campaign->rounds * campaign->sampling.discard, 1);
  if (campaign->sampling.samples == 0 || campaign->sampling.samples > counted)
    campaign->sampling.samples = counted;
  campaign->rounds = prem_min_i64(campaign->rounds, campaign->sampling.samples);
}

/** More launches, where outputs would be verified too seldom. Each discards anew: within a duration
 *  no more than it counts. */
static void launch_for_verifying(prem_campaign *campaign) {
  prem_sampling *sampling = &campaign->sampling;
  const int64_t every = sampling->verify_every;
  if (every == 0 || (sampling->samples - 1) / campaign->rounds < every)
    return;
  if (sampling->duration_s > 0) {
    sampling->discard = prem_min_i64(sampling->discard, every);
    const int64_t launches = room_in_duration(campaign) / (every + sampling->discard);
    sampling->samples = prem_min_i64(sampling->samples, launches * every);
  }
  campaign->rounds = (sampling->samples - 1) / every + 1;
}

/** How often the modes are launched, and for how long. */
void prem_rounds_lay_out(prem_campaign *campaign) {
  const prem_compare_options *options = campaign->options;
  campaign->sampling = options->sampling;
  if (options->sampling.scenario == PREM_RELAUNCH) {
    campaign->rounds =
        options->sampling.samples ? options->sampling.discard + options->sampling.samples : 0;
    return;
  }
  campaign->rounds =
      options->sampling.launches > 0 ? options->sampling.launches : MAX_RESIDENT_LAUNCHES;
  if (options->sampling.duration_s > 0)
    fit_into_duration(campaign);
  else
    campaign->rounds = prem_min_i64(campaign->sampling.samples, campaign->rounds);
  launch_for_verifying(campaign);
}

int64_t prem_rounds_share(const prem_campaign *campaign, int64_t round) {
  int64_t launches = campaign->rounds;
  return campaign->sampling.samples / launches + (round < campaign->sampling.samples % launches);
}
