# SPDX-License-Identifier: Apache-2.0
# fish completion of ttprem. Verbs, options and names are asked of the command, so that they are those of that
# build; command/options.h says what the lines of --complete are.

function __ttprem_verbs
    ttprem --help 2>/dev/null | sed -n '/^Verbs:/,/^$/s/^  \([a-z-]*\)  *\(.*\)/\1\t\2/p'
end

function __ttprem_names # GROUP, one of `ttprem list`
    ttprem list 2>/dev/null | awk -v group=$argv[1] '/^[^ ]/ { inside = $0 == group; next } inside && /^  [^ ]/ { print $1 }'
end

# Words for a value, as a line of --complete gives them.
function __ttprem_values # VALUES
    set -l kinds (string split ' ' -- $argv[1])
    switch "$kinds[1]"
        case @files
            __fish_complete_suffix (string replace '*' '' -- $kinds[2])
        case @folders
            __fish_complete_directories
        case @list
            __ttprem_names $kinds[2]
        case @experiments
            printf '%s\n' all list thesis
            ttprem experiment list 2>/dev/null | awk '{ print $1 }'
        case '*'
            for kind in $kinds
                if string match -q '@*' -- $kind
                    __ttprem_names (string sub -s 2 -- $kind)
                else
                    echo $kind
                end
            end
    end
end

function __ttprem_offer
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l verb
    for word in $before[2..-1]
        if not string match -q -- '-*' $word
            set verb $word
            break
        end
    end
    if test -z "$verb"
        string match -q -- '-*' $current; and printf '%s\n' --help --usage --version; or __ttprem_verbs
        return
    end
    set -l option $before[-1]
    string match -q -- '--*=*' $current; and set option (string replace -r '=.*' '' -- $current)
    for line in (ttprem --complete=$verb 2>/dev/null)
        set -l parts (string split \t -- $line)
        set -l names (string split ' ' -- $parts[1])
        if string match -q -- '*=' $names[-1]; and contains -- $option $names[1] (string trim -r -c = -- $names[-1])
            set -l values (__ttprem_values "$parts[2]")
            string match -q -- '--*=*' $current; and printf "$option=%s\n" $values; or printf '%s\n' $values
            return
        end
    end
    for line in (ttprem --complete=$verb 2>/dev/null)
        set -l parts (string split \t -- $line)
        if test -z "$parts[1]"
            string match -q -- '-*' $current; or __ttprem_values "$parts[2]"
        else if string match -q -- '-*' $current
            string split ' ' -- $parts[1]
        end
    end
end

complete -c ttprem -f -a '(__ttprem_offer)'
